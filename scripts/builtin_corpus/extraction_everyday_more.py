"""More everyday texts from which values are taken: rows of tables, forms, logs, notices, chats.

The format is that of `extraction_everyday.py`, whose drawers and field names the blocks use; what
they need beyond those is here: `LISTS` and `DRAW` (drawers), `INTEGERS` and `SHAPES` (what their
values look like in normalised text) and `ALIASES`. `extraction_everyday.py` merges all of it into
its own, and so `extraction.py` draws texts from here and `wordings.py` reads the patterns for the
honesty test. Several texts carry more values than are asked for: other numbers and other names
stand beside the wanted ones.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import extraction_texts, values, words

Value = str | int | float

_LISTS = """
firmname: Miller Ltd, Becker GmbH, Novak & Sons, Rossi Foods, Northwind, Blue Harbour Ltd, \
Silva Partners, Hansen Print, Okafor Trading, City Cleaning, Bright Spark Electric, Lopez Tiles, \
Green Leaf Gardens, Tanaka Motors, Wagner & Co, Quick Print, Dubois Textiles, Peak Software, \
Redstone Building, Kovacs Transport, Sunny Side Catering, Patel Pharmacy, Olsen Timber, \
Oak & Iron, Paper Planet, Alpine Dairy, Castle Insurance, Delta Roofing, Rivera Coffee, Bell Glass
menu: flat white, cheese toast, green tea, espresso, carrot cake, lentil soup, iced tea, ham roll, \
fruit salad, lemonade, veggie burger, hot chocolate, blueberry muffin, fish and chips, tomato \
salad, cinnamon bun, mint tea, club sandwich, cheese omelette, apple juice, onion soup, waffle
tool: drill bits, wood screws, sandpaper, paint roller, ladder, hammer, tape measure, wall paint, \
garden hose, extension lead, saw blade, work gloves, door hinges, spirit level, cable ties, shovel
medicine: ibuprofen, aspirin, amoxicillin, paracetamol, insulin, cough syrup, vitamin D, iron \
tablets, eye drops, nose spray, antihistamine, cortisone cream, magnesium, folic acid, metformin
petill: ear infection, limp, cough, broken claw, tooth decay, fleas, worms, itchy skin, eye \
infection, upset stomach, weight loss, hair loss, runny nose, sore gums, swollen paw
skill: Python, Excel, first aid, German, SQL, forklift driving, bookkeeping, welding, Photoshop, \
French, Java, customer service, copywriting, spreadsheets, Spanish, a driving licence, baking
contract: full-time, part-time, permanent, temporary, freelance, seasonal, night shift, remote
status: shipped, pending, delivered, cancelled, returned, on hold, paid, refunded, in transit, \
ready for pickup, packed, lost, damaged, out of stock
paymeans: cash, card, bank transfer, PayPal, cheque, gift card, credit card, direct debit, voucher
airline: Lufthansa, Air France, KLM, Iberia, Finnair, Ryanair, easyJet, Emirates, Delta, Qantas, \
Turkish Airlines, SAS, British Airways, Air Canada, LOT, Swiss, TAP, United
genre: crime novel, cookbook, biography, comic, travel guide, fantasy novel, poetry, atlas, \
science fiction, history book, picture book, dictionary, love story, thriller, textbook
bird: heron, kestrel, robin, blackbird, magpie, barn owl, swallow, woodpecker, mallard, starling, \
cormorant, red kite, blue tit, cuckoo, jay, crane, puffin, white stork, osprey, nightingale
exercise: squats, push-ups, deadlifts, lunges, bench press, sit-ups, pull-ups, rowing, burpees, \
leg press, biceps curls, shoulder press, calf raises, kettlebell swings
channel: BBC One, Arte, CNN, ZDF, Channel 4, Rai Uno, Eurosport, National Geographic, Film 24, \
Radio 3, Sky News, TV5, Kids TV, Local One, NBC
programme: Ocean Life, The Night Shift, Morning News, Cooking With Rosa, Space Hour, Old Bridges, \
Quiz Time, Wild Alps, The Big Match, Late Talk, Garden Doctor, Silent Witness, Jazz Club, \
City Stories, Weather Watch, Train Journeys
plantname: tomato plant, basil, ficus, orchid, cactus, rose bush, lemon tree, aloe vera, fern, \
lavender, rubber plant, ivy, geranium, rosemary, bonsai, sunflower, peace lily, spider plant
sizeletter: XS, S, M, L, XL, XXL
garment: wool coat, T-shirt, jeans, rain jacket, hoodie, linen shirt, skirt, summer dress, \
cardigan, running shorts, sweater, pyjamas, leather jacket, polo shirt, scarf, raincoat
happening: flea market, spring fair, poetry slam, beach clean-up, book fair, open day, street \
party, charity run, pub quiz, wine tasting, science fair, jazz evening, film night, art auction, \
chess tournament, blood drive, choir concert, job fair, bake sale, lantern walk
athletics: javelin, long jump, high jump, shot put, 100 metres, pole vault, 400 metres, discus, \
triple jump, marathon, 1500 metres, 200 metres backstroke, hurdles, hammer throw
allergen: peanuts, milk, gluten, eggs, soy, shellfish, sesame, mustard, celery, hazelnuts, \
fish, kiwi, strawberries, wheat, penicillin, almonds, lupin, honey
furniture: oak table, grey sofa, bunk bed, wardrobe, rocking chair, bookcase, kitchen cupboard, \
coffee table, chest of drawers, office desk, armchair, bar stool, mirror, shoe rack, piano
fuel: diesel, petrol, electricity, hydrogen, natural gas, super 95, premium diesel
roomtype: single room, double room, family suite, twin room, dormitory bed, sea view room, \
attic room, apartment, penthouse, bungalow
waste: paper, glass, old clothes, batteries, garden waste, plastic, metal, bulky waste, \
food waste, electronics, paint cans, cardboard
absence: holiday, sick leave, parental leave, a training course, a business trip, jury duty, a \
wedding, a dentist visit, a conference, moving house, a funeral, an exam
browser: Firefox, Chrome, Safari, Edge, Opera, Brave, Vivaldi
machine: lathe, conveyor belt, packing line, press, boiler, crane, forklift, pump, compressor, \
oven line, mixer, cooling unit, generator, labeller, turbine, drying tower, robot arm
part: drive belt, oil filter, bearing, fuse, seal, pressure valve, sensor, gear wheel, brake pad, \
spark plug, fan blade, hose, battery pack, control board, spring, nozzle
degree: physics, law, nursing, economics, medicine, architecture, computer science, philosophy, \
civil engineering, chemistry, sociology, education, linguistics, biology, dentistry
fish: trout, pike, carp, salmon, cod, perch, mackerel, eel, catfish, sea bass, zander, herring
game: Catan, Carcassonne, chess, Monopoly, Scrabble, Ticket to Ride, Uno, Risk, backgammon, \
Dominion, Pandemic, Azul, poker, Mastermind, dominoes, Go Fish
instrument: violin, cello, trumpet, flute, drums, saxophone, harp, clarinet, oboe, piano, guitar, \
accordion, trombone, double bass, ukulele, viola
subjectline: Your order, Lunch on Friday, Broken link, Key handover, Photos from the trip, \
Question about the lease, New timetable, Missing page, Thank you, Team dinner, Server restart, \
Change of plan, Overdue books, Welcome pack, Password reset, Draft contract, Feedback needed
river: Rhine, Danube, Thames, Seine, Elbe, Loire, Oder, Tiber, Ebro, Vistula, Po, Moselle, Drava
mountain: Ben Nevis, Mont Blanc, Zugspitze, Etna, Matterhorn, Snowdon, Triglav, Olympus, Teide, \
Kilimanjaro, Elbrus, Fuji, Eiger, Rigi, Table Mountain
"""
LISTS = {
    name: [value.strip() for value in row.split(",")]
    for name, row in (line.split(": ", 1) for line in _LISTS.strip().splitlines())
}

_SHORT_MONTHS = [month[:3] for month in words.MONTHS]


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number in (11, 12, 13) else ending}"


def _day_of_year(rng: Random) -> str:
    """A date in one of the many ways in which people write it: "3 May", "May 3rd", "03.05.2026"."""
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(2019, 2031)
    name, short = words.MONTHS[month - 1], _SHORT_MONTHS[month - 1]
    return rng.choice([
        f"{day} {name}", f"{day} {name}", f"{name} {day}", f"{day} {name} {year}",
        f"{_ordinal(day)} {name}", f"{_ordinal(day)} of {name}", f"{name} {_ordinal(day)}",
        f"{day} {short}", f"{short} {day}", f"{day} {short} {year}", f"{name} {day}, {year}",
        f"{day:02d}.{month:02d}.{year}", f"{day}.{month}.{year}", f"{day:02d}/{month:02d}/{year}",
        f"{year}-{month:02d}-{day:02d}", f"{year}/{month:02d}/{day:02d}",
    ])  # fmt: skip


def _clock(rng: Random) -> str:
    """A time of day: "9 am", "7.30 pm", "18:05", "noon"."""
    hour, minute = rng.randint(1, 12), rng.choice([0, 5, 10, 15, 20, 30, 40, 45, 50])
    late = rng.randint(6, 23)
    return rng.choice([
        f"{hour} am", f"{hour} pm", f"{hour}pm", f"{hour}.{minute:02d} pm", f"{hour}:{minute:02d} \
am",
        f"{late:02d}:{minute:02d}", f"{late}:{minute:02d}", f"{late}.{minute:02d}",
        f"{hour} o'clock", rng.choice(["noon", "midnight", "half past six", "quarter to nine"]),
    ])  # fmt: skip


def _phone(rng: Random) -> str:
    """A telephone number in several groups of figures."""
    area, one, two = rng.randint(10, 999), rng.randint(100, 999), rng.randint(1000, 9999)
    return rng.choice([
        f"0{area} {one}{two}", f"0{area}-{one}{two}", f"(0{area}) {one} {two}",
        f"+{rng.randint(1, 99)} {area} {one} {two}", f"0{area}/{two}{one}", f"555 {two}",
    ])  # fmt: skip


def _username(rng: Random) -> str:
    stem = rng.choice([values.word, lambda r: r.choice(values.FIRST_NAMES).lower()])(rng)
    return rng.choice([stem, f"{stem}{rng.randint(1, 99)}", f"{stem}_{rng.randint(1, 99)}"])


def _halves(rng: Random) -> int | float:
    return rng.choice([rng.randint(1, 12), rng.randint(1, 12), rng.randint(1, 9) + 0.5])


DRAW: dict[str, Callable[[Random], Value]] = {
    **{name: (lambda r, found=found: r.choice(found)) for name, found in LISTS.items()},
    "dayof": _day_of_year,
    "clock": _clock,
    "phone2": _phone,
    "username": _username,
    "halves": _halves,
    "kilo": lambda r: r.choice([r.randint(1, 90), round(r.uniform(0.3, 60), 1)]),
    "metres": lambda r: round(r.uniform(1.2, 89), r.choice([1, 2])),
    "laptime": lambda r: f"{r.randint(1, 59)}:{r.randint(0, 59):02d}.{r.randint(0, 9)}",
    "ip": lambda r: ".".join(str(r.randint(1, 254)) for _ in range(4)),
    "path": lambda r: f"/{r.choice('api admin shop v1 users'.split())}/{values.word(r)}",
    "sku": lambda r: f"{r.choice('ABCDEFGHKLM')}{r.choice('RSTUVX')}-{r.randint(100, 9999)}"
                     f"-{r.choice('ABCDEF')}",
    "versionno": lambda r: f"{r.randint(0, 9)}.{r.randint(0, 20)}.{r.randint(0, 30)}",
    "website": lambda r: f"www.{values.word(r)}.example",
    "httpcode": lambda r: r.choice([200, 201, 204, 301, 302, 400, 401, 403, 404, 409, 429, 500,
                                    502, 503]),
    "points": lambda r: r.randint(31, 128),
    "rank": lambda r: r.randint(1, 40),
    "frosty": lambda r: r.randint(-25, 8),
    "warm": lambda r: r.randint(9, 41),
    "indoors": lambda r: r.randint(-20, 60),
    "speed": lambda r: r.randint(121, 199),
    "limit": lambda r: r.choice([30, 50, 60, 70, 80, 90, 100, 110]),
    "oven": lambda r: r.choice([120, 150, 160, 170, 180, 190, 200, 210, 220, 240]),
    "sizecm": lambda r: r.randint(30, 220),
    "repeats": lambda r: r.randint(3, 40),
    "milliseconds": lambda r: r.randint(2, 9000),
    "cheap": lambda r: r.randint(0, 29) + r.choice([0.99, 0.95, 0.49, 0.25, 0.75, 0.79, 0.19]),
    "fuelprice": lambda r: round(r.uniform(1.1, 2.4), 3),
    "taxrate": lambda r: r.choice([5, 7, 8, 10, 16, 19, 20, 21, 22, 25]),
    "doses": lambda r: r.randint(2, 4),
    "tracklength": lambda r: f"{r.randint(1, 9)}:{r.randint(0, 59):02d}",
    "metresup": lambda r: r.randint(300, 6900),
}  # fmt: skip

# The drawers whose values are whole numbers, and what the values of the others look like.
INTEGERS = set(
    "httpcode points rank frosty warm indoors speed limit oven sizecm repeats milliseconds "
    "metresup taxrate doses".split()
)
_MONTH = "(?:" + "|".join([*words.MONTHS, *_SHORT_MONTHS]).lower() + ")"
SHAPES = {
    "dayof": rf"(?:\d+ \d+ \d+|\d+(?:st|nd|rd|th)?(?: of)? {_MONTH}(?: \d+)?"
             rf"|{_MONTH} \d+(?:st|nd|rd|th)?(?: \d+)?)",
    "clock": r"(?:\d+(?: \d+)?(?: ?[ap]m| o clock)?|noon|midnight|half past six|quarter to nine)",
    "phone2": r"\d+(?: \d+){1,3}",
    **dict.fromkeys("halves kilo metres cheap fuelprice tracklength".split(), r"\d+(?: \d+)?"),
    **dict.fromkeys(["laptime", "versionno"], r"\d+ \d+ \d+"),
    "ip": r"\d+ \d+ \d+ \d+",
    "path": r"(?:api|admin|shop|v1|users) \w+",
    "sku": r"[a-z]{2} \d+ [a-z]",
    "username": r"\w+",
    "website": r"www \w+ example",
}  # fmt: skip

_ALIASES = """
tax: tax vat tax_rate vat_percent tax_percent
amount_net: net net_amount subtotal before_tax
payment: payment payment_method paid_with paid_by
cashier: cashier served_by clerk
change: change money_back
given: given paid cash_given
first_item: first_item item_1 product_1
second_item: second_item item_2 product_2
first_price: first_price price_1 cost_1
second_price: second_price price_2 cost_2
ip: ip ip_address client_ip address
path: path url_path endpoint resource
http_status: status status_code http_status response_code
took: took duration_ms ms latency response_time
user_login: user username login account_name
browser: browser user_agent web_browser
happening: event title event_name occasion what
ends: ends end end_time until
meeting_date: date day on event_date when
entry_fee: entry entry_fee admission ticket_price
subject_line: subject subject_line topic
sent_to: to recipient receiver addressee
sent_from: from sender author
cc: cc copy_to in_copy
sent_on: date sent_on sent day
chat_time: time sent_at at clock_time
pickup: pickup pickup_place meeting_point where
airline: airline carrier flown_by
arrives: arrival arrives arrives_at arrival_time
carriage: carriage coach car_number wagon
fare: fare ticket_price price cost
via: via stopover change_in
skill: skill required_skill requirement must_have
contract: contract contract_type employment_type type_of_job
pay: pay salary wage monthly_pay
apply_by: apply_by deadline application_deadline closing_date
website: website url web_address homepage
low: low minimum lowest min_temperature night_temperature
high: high maximum highest max_temperature day_temperature
humidity: humidity humidity_percent air_humidity
home_points: home_points points_home home_score score_home
guest_points: guest_points away_points points_away away_score
spectators: spectators attendance crowd viewers
referee: referee umpire official
athlete: athlete name competitor sportsman
discipline: discipline event sport
rank: rank place position placing
mark: mark result distance best_try
nation: country nation nationality
lap: lap lap_time best_lap time
team: team racing_team crew
packages: packages boxes number_of_packages parcels
kilos_total: weight weight_kg total_weight kg
driver: driver driver_name driven_by
racer: driver racer racing_driver name
begins: start begins starts start_time
venue: place location venue where
beaten: loser loser_name defeated beaten
taken_by: agent taken_by handled_by operator
priority: priority urgency level
hours: hours hours_needed duration
pastime: hobby pastime likes interest
unit_price: unit_price price_each price cost
order_total: total total_price price cost
fuel_total: total total_price to_pay sum
till_total: total sum total_price
gross: gross gross_amount total grand_total
received_by: received_by signed_by recipient accepted_by
status: status state order_status
sku: sku article_number item_number product_code
stock: stock in_stock units_left available
shelf_label: shelf shelf_label bay
calories: calories kcal energy
oven: oven oven_temperature oven_degrees heat
grams: grams weight_g amount_g g
allergen: allergen allergy allergic_to contains
library_card: card library_card card_number card_no
genre: genre category kind_of_book type
fine: fine late_fee penalty charge
copies: copies number_of_copies copy_count
vet: vet veterinarian animal_doctor vet_name
ill: illness diagnosis complaint reason
pet_kilos: weight weight_kg kg kilos
chip: chip chip_number microchip chip_id
deposit: deposit security_deposit caution
free_from: free_from available_from move_in available
floor: floor storey level
viewing: viewing viewing_date visit_on
medicine: medicine drug medication remedy
dose: dose dose_mg mg milligrams
per_day: per_day times_a_day daily times_per_day
prescriber: doctor prescribed_by prescriber physician
exercise: exercise movement activity
sets: sets number_of_sets rounds
repeats: reps repeats repetitions times
load_kg: load weight load_kg kg
channel: channel station broadcaster
programme: programme show program title
presenter: presenter host moderator
plantname: plant plant_name species
water_days: every_days watering_interval interval_days
height_cm: height height_cm cm
garment: garment item clothing article
sizeletter: size clothing_size
bird: bird species bird_species seen
sightings: count sightings number_seen how_many
observer: observer name spotter seen_by
furniture: furniture item piece
width: width width_cm
depth: depth depth_cm
fuel: fuel fuel_type
litres: litres liters volume
litre_price: price_per_litre litre_price unit_price
pump: pump pump_number
roomtype: room_type room category kind_of_room
check_in: check_in arrival_date from_date arrival
check_out: check_out departure_date to_date leaving
booking_code: booking_code booking reservation_number reference
adults: adults number_of_adults grown_ups
children: children kids number_of_children
waste: waste type_of_waste material rubbish
collected: collected collection_date collection pickup_date
colleague: colleague employee name absent
absence: reason absence reason_for_absence cause
back_on: back_on return_date until back
stand_in: stand_in substitute cover replacement
machine: machine unit equipment
part: part spare_part component
technician: technician engineer mechanic fixed_by
hours_down: downtime hours downtime_hours hours_down
next_service: next_service next_check service_date
degree: degree study_course field major
university_town: city town university_town place
term: semester term
student: student name student_name
student_no: student_number matriculation student_id
fish: fish species catch
angler: angler fisher name caught_by
length_cm: length length_cm cm
game: game title board_game
players: players number_of_players player_count
winner: winner won_by champion
top_score: winning_score points top_score
instrument: instrument plays
musician: musician name player
rehearsal: rehearsal rehearsal_date practice next_practice
years_played: years years_played experience
release: version release version_number build
app: app application program software
bugs: bugs fixed_bugs number_of_fixes bugs_fixed
developer: developer released_by author programmer
megabytes: size size_mb megabytes mb
file: file filename file_name document
pages_printed: pages page_count number_of_pages
printed_by: user printed_by owner
level_cm: water_level level level_cm
river: river stream
peak: peak mountain summit
climber: climber mountaineer name
up_metres: altitude height elevation metres
hut: hut_beds beds free_beds
room_temp: temperature temp celsius
sensor: sensor sensor_id device_id
battery: battery battery_percent charge
auction_lot: lot lot_number lot_no
bidder: bidder buyer highest_bidder
bid: bid highest_bid final_price
estimate: estimate estimated_value estimated_price
child: child name kid child_name
guardian: guardian parent mother_or_father contact
group: group group_name kindergarten_group
speed: speed speed_kmh km_h
limit: limit speed_limit allowed_speed
licence: plate licence_plate number_plate registration
hours_worked: hours hours_worked working_hours
project: project project_name task
hourly: hourly_rate rate rate_per_hour
worker: worker employee name freelancer
week: week week_number calendar_week
old_date: old_date original_date before
new_date: new_date moved_to rescheduled_to after
trainee: trainee participant student name
marks: score points result marks
max_marks: max_points maximum out_of max_score
bus_stop: stop bus_stop station
zone: zone tariff_zone fare_zone
valid_until: valid_until expiry expires valid_to
holder: holder owner card_holder name
seats: seats free_seats places
song_length: length duration song_length
from_lang: from_language source_language original_language
to_lang: to_language target_language translated_into
words_count: words word_count number_of_words
translator: translator translated_by name
"""
ALIASES = dict(line.split(": ", 1) for line in _ALIASES.strip().splitlines())

_TEXTS = """
# taxbill: bill=idnumber supplier=firmname client=firmname total=money tax=taxrate due=dayof
[no.|number|ref.] {bill}, {supplier}: {total} EUR incl. {tax}% VAT, [settle|pay up] before {due}
{supplier} charges {client} {total} euros; the [bill|paper] has the number {bill}, [last \
day|limit] {due}
[accounts|bookkeeping]: enter no. {bill} of {supplier}, {total} euros gross, {tax} percent tax
From: {supplier}\\nFor: {client}\\nBill no: {bill}\\nVAT: {tax}%\\nTo pay: {total}\\nPay until: \
{due}
bill;supplier;total;due\\n{bill};{supplier};{total};{due}
{due} - {supplier} - no. {bill} - {total} EUR
we [are sorry|regret] to say that bill {bill}, {total} euros, is still open at {supplier}
{client} got a bill of {total} euros from {supplier}, {tax} percent VAT [included|in it]
"{supplier}" wrote "{total}" under bill {bill}, [but|and] the tax rate says {tax}%
# codedbill: bill=ref client=full amount_net=cheap gross=hundreds tax=taxrate due=date
{bill}\\tnet {amount_net}\\tVAT {tax} %\\ttotal {gross}
{client} has to pay {gross} euros, that is {amount_net} euros net plus {tax} percent, [see|as in] \
{bill}
Net: {amount_net}\\nVAT {tax}%\\nGross: {gross}\\nCustomer: {client}\\nRef: {bill}
before tax it is {amount_net} euros, [with tax|after tax] {gross}, [so says|according to] bill \
{bill}
<bill no="{bill}"><client>{client}</client><total>{gross}</total><due>{due}</due></bill>
[final notice|last warning] for {client}: {gross} euros [not received|open], ref {bill}, [was \
due|due] {due}
# shopbon: store=shopname first_item=goods first_price=cheap second_item=goods second_price=cheap \
payment=paymeans
{store}\\n1 {first_item} {first_price}\\n1 {second_item} {second_price}\\n[Paid|Payment]: \
{payment}\\nThank you
{first_item} [at|for] {first_price}, {second_item} [at|for] {second_price}, [all|both] from {store}
{first_price} euros for {first_item} and {second_price} euros for {second_item}, [I paid|we paid] \
by {payment}
*** {store} ***\\n{first_item}: {first_price}\\n{second_item}: {second_price}
[from|at] {store}, you pay {first_price} for {first_item} [but|and] {second_price} for {second_item}
item,price\\n{first_item},{first_price}\\n{second_item},{second_price}
[shopping|expenses] today ({store}, {payment}): {first_item} {first_price}; {second_item} \
{second_price}
# till: store=shopname till_total=money given=hundreds change=money cashier=first time=time \
date=date payment=paymeans
{store} {date} {time}\\nTotal {till_total}\\nGiven {given}\\nChange {change}\\nYou were served by \
{cashier}
{cashier} at {store} [rang up|charged] {till_total} and gave {change} back
[total|sum] {till_total}, [paid with|by] {payment}, {date} {time}, {store}
at {time} {cashier} took {given} euros for a bill of {till_total} euros
change: {change}, total: {till_total}, [till clerk|cashier]: {cashier}
[I think|we think] {cashier} was wrong: {till_total} to pay, {given} given, {change} back. \
{store}, {date}
# cafe: guest=first first_item=menu second_item=menu table_no=small total=cheap time=clock
table {table_no}: one {first_item}, one {second_item}, [makes|that is] {total}
{guest} had a {first_item} and a {second_item} at table {table_no}, {total} euros
[one|a] {first_item} for {guest}, [and|plus] a {second_item} [to take away|to go]
{time}, table {table_no}: {first_item} / {second_item}, {total}
order for {guest}\\n- {first_item}\\n- {second_item}\\n[Ready|Pick up] at {time}
[can I have|could I get] the {first_item}? {guest} takes the {second_item}. [Table|We sit at] \
{table_no}
the bill of {guest} was {total} euros, the {first_item} was [cold|lovely]
# weblog: ip=ip path=path http_status=httpcode took=milliseconds stamp=stamp user_login=username
{ip} - {user_login} {stamp} "GET {path}" {http_status} {took}
{stamp} {ip} GET {path} -> {http_status} in {took} ms
{http_status} {path} {took}ms {ip}
[request|call] to {path} by {user_login} [ended|came back] with {http_status} after {took} ms
ip={ip} user={user_login} path={path} status={http_status}
{stamp} access: {user_login} from {ip}, status {http_status}
{"ip": "{ip}", "path": "{path}", "status": {http_status}, "ms": {took}}
[somebody|a bot] at {ip} [tried|asked for] {path} 40 times, always {http_status}
timestamp,ip,path,status\\n{stamp},{ip},{path},{http_status}
# signin: user_login=username ip=ip stamp=stamp city=town browser=browser
{stamp} login {user_login} from {ip} ({city}, {browser})
new [sign-in|login] for {user_login}: {city}, {browser}[, {stamp}|]
[was that you|do you know this]? {browser} on {ip}, near {city}, account {user_login}
Account: {user_login}\\nPlace: {city}\\nBrowser: {browser}\\nIP: {ip}
failed password for {user_login} from {ip} port 22
{user_login} [always|mostly] uses {browser}, so the login from {city} [looks odd|is strange]
<INFO> {stamp} session opened: {user_login} @ {ip}
# agenda: happening=happening meeting_date=dayof begins=clock ends=clock venue=spot organiser=full
{meeting_date}, {begins}-{ends}: {happening}, {venue}
{happening}\\n{meeting_date}, {begins} to {ends}\\nWhere: {venue}\\nContact: {organiser}
[mark your calendar|keep this day free]: {happening} on {meeting_date}, {begins} until {ends}
[accepted|declined|tentative]: {happening} @ {meeting_date} {begins} ({organiser})
{organiser} [runs|looks after] the {happening} in the {venue}, it ends at {ends}
BEGIN:EVENT\\nSUMMARY:{happening}\\nDTSTART:{meeting_date} {begins}\\nLOCATION:{venue}\\nEND:EVENT
{happening} in the {venue}, {begins}-{ends}, [ask|see] {organiser}
the {happening} begins at {begins} in the {venue} and [is over|closes] at {ends}
# village: happening=happening city=town meeting_date=dayof begins=clock entry_fee=cheap \
phone=phone2
{city}: {happening}, {meeting_date}, {begins}, [entry|admission] {entry_fee} euros
come [one|and] all to the {happening} in {city}! {meeting_date}, from {begins}, tickets \
{entry_fee} euros
[poster|flyer|notice]: {happening} / {city} / {meeting_date} / {begins} / info {phone}
the {happening} of {city} [costs|takes] {entry_fee} euros at the door, [questions|info] on {phone}
[dear neighbours|dear residents], on {meeting_date} {city} [holds|has] its {happening}, \
[doors|gates] {begins}
because of [the storm|bad weather], the {happening} in {city} is put off to {meeting_date}
What: {happening}\\nWhere: {city}\\nWhen: {meeting_date}, {begins}\\nEntry: {entry_fee}
# mailhead: sent_from=email sent_to=email cc=first subject_line=subjectline sent_on=dayof
From: {sent_from}\\nTo: {sent_to}\\nSubject: {subject_line}
To: {sent_to}\\nFrom: {sent_from}\\nDate: {sent_on}\\nSubject: {subject_line}\\n\\nSee below
on {sent_on}, {sent_from} wrote to {sent_to} under the subject "{subject_line}"
{sent_from} -> {sent_to}: "{subject_line}" ({sent_on})
Subject: Re: {subject_line}\\nFrom: {sent_from}\\nCc: {cc}
[bounced|not delivered]: mail "{subject_line}" to {sent_to}, [sent|posted] on {sent_on} by \
{sent_from}
[please forward|send] the mail "{subject_line}" of {sent_on} to {sent_to}, [copy to|and to] {cc}
{sent_on}\\t{sent_from}\\t{subject_line}
# chatline: sender=first chat_time=time pickup=where taker=first thing=belonging day=day
{chat_time} {sender}: {taker}, do you still need the {thing}?
{chat_time} {sender}: meet you at the {pickup} on {day}, {taker}
{sender} ({chat_time}): @{taker} [pls|please] bring the {thing} on {day}
<{sender}> {taker}, come to the {pickup} and get your {thing}
{sender} wrote to {taker} at {chat_time}: "I am waiting at the {pickup}"
from {sender} to {taker}, {chat_time}: found your {thing}, [come|get it] on {day}
{chat_time} {taker} joined the group. {sender}: [oh good|hi], {taker}, here is your {thing}
{sender}: are you free on {day}? At the {pickup}?\\n{taker}: ok, and bring the {thing}
# boarding: traveller=full airline=airline flight_no=flightno origin=town destination=town \
departs=clock arrives=clock seat=seatcode gate=gatecode
name {traveller} / flight {flight_no} / {origin} to {destination} / seat {seat} / gate {gate}
{airline} flight {flight_no} from {origin}, [due|expected] in {destination} at {arrives}
{flight_no}: {origin} {departs} - {destination} {arrives}
[attention|final call]: passengers of {airline} to {destination}, [proceed|go] to gate {gate} at \
once
Name: {traveller}\\nFlight: {flight_no} ({airline})\\nFrom: {origin}\\nTo: {destination}\\nSeat: \
{seat}
{traveller} sits in {seat} on {flight_no}, [take-off|departure] {departs}, [landing|arrival] \
{arrives}
flight,from,to,departure,gate\\n{flight_no},{origin},{destination},{departs},{gate}
[we regret|sorry]: {airline} has [cancelled|moved] {flight_no} from {origin} to {destination}
your [seat|place] on the {airline} plane to {destination} is {seat}, boarding at gate {gate}
# railway: train=trainno origin=town destination=town via=town departs=clock arrives=clock \
platform=small carriage=small fare=money
{train} {origin} {departs} > {via} > {destination} {arrives}
[the next train|the train] on platform {platform} is the {train} to {destination} via {via}
{origin} to {destination}, change in {via}, [from|for] {fare} euros
{train}, coach {carriage}, {origin}-{destination}, {fare} EUR
[here is|this is] {via}. This train [goes on|continues] to {destination}, arrival {arrives}
Train: {train}\\nDeparture: {origin} {departs}, platform {platform}\\nArrival: {destination} \
{arrives}
train;from;to;dep;arr\\n{train};{origin};{destination};{departs};{arrives}
change of platform: {train} to {destination}, {departs}, [today|now] from {platform}
[stand back|attention] at platform {platform}, {train} from {origin} is [coming in|arriving]
# jobad: position=trade company=firmname city=town contract=contract pay=thousands skill=skill \
apply_by=dayof website=website
at {company} in {city}, a {position} [gets|earns] {pay} euros a month, {contract}
[we are looking for|join us as] a {position} in {city}! You bring: {skill}. [Apply|Write to us] \
by {apply_by}
{position} wanted, {contract}. [Must have|Needed]: {skill}. More on {website}
Job: {position}\\nCompany: {company}\\nPlace: {city}\\nContract: {contract}\\nPay: {pay}
#hiring {position} - {company} - {city} - {contract}
{company} pays a {position} {pay} euros, [closing date|applications until] {apply_by}
[fed up with your job|new in {city}]? {company} has a {contract} job for a {position}
{contract} {position} / {city} / {skill} / {website}
at {company}, {skill} is [a must|needed] for every {position}
# shifts: name=full department=department begins=clock ends=clock day=day hourly=money
{day}: {name}, {department}, {begins} - {ends}
{name} [works|is down] from {begins} to {ends} on {day}
rota {department}\\n{day} {begins}-{ends} {name}
{name} ({department}) [swaps|gives away] the {day} shift, {begins} until {ends}, {hourly} euros \
an hour
day,name,from,to\\n{day},{name},{begins},{ends}
[who can|can anyone] take over for {name} on {day}? It is {department}, {begins} to {ends}
{hourly} euros per hour is what {name} [gets|makes] in {department}
# climate: city=town low=frosty high=warm humidity=percent wind=small weather=weather day=day
{city}: {weather}, high {high}, low {low}
{day} in {city}: {weather}, [up to|max] {high} degrees, at night {low}
[weather report|now the weather] for {city}. {weather}, humidity {humidity} percent, wind {wind} \
km/h
{city}\\t{high}\\t{low}\\t{humidity}%
station {city}: min {low}, max {high}, humidity {humidity}%, wind {wind}
after a night of {low} degrees, {city} can look forward to {high} degrees and {weather} on {day}
city,day,max,min\\n{city},{day},{high},{low}
expect {weather} on {day}, [highest|top] value {high}, [lowest|bottom] value {low}, wind {wind} km/h
# basket: home=club away=club home_points=points guest_points=points spectators=thousands \
stadium=town referee=full
{home} {home_points}, {away} {guest_points}. [Crowd|Attendance]: {spectators}
final: {home} {home_points}:{guest_points} {away} ({stadium})
{spectators} [people|fans] in {stadium} saw {home} [meet|play] {away}, {home_points} to \
{guest_points}
Match: {home} - {away}\\nResult: {home_points}-{guest_points}\\nReferee: {referee}
{referee} [whistled|led] the game {home} against {away} in {stadium} before {spectators}
FT {home} {home_points} {away} {guest_points}
[full house|sold out] in {stadium}: {spectators} at {home} vs {away}, referee {referee}
home,points,guest,points\\n{home},{home_points},{away},{guest_points}
# medals: athlete=full nation=country discipline=athletics mark=metres rank=rank meeting_date=dayof
{rank}. {athlete} ({nation}) {mark} m
{discipline}, place {rank}: {athlete}, {nation}
{athlete} of {nation} came in at number {rank} in the {discipline}
with {mark} metres, {athlete} is [ranked|now] number {rank} in the {discipline}
rank;name;country;result\\n{rank};{athlete};{nation};{mark}
Discipline: {discipline}\\nAthlete: {athlete}\\nResult: {mark}\\nRank: {rank}
on {meeting_date} {athlete} [starts|competes] for {nation} in the {discipline}
{nation} [cheers|celebrates]: {athlete}, rank {rank}, {discipline}, {mark} metres on {meeting_date}
# laps: racer=full team=firmname lap=laptime rank=rank city=town nation=country
P{rank} {racer} {lap} {team}
{racer} ({team}) drove the best lap in {city}: {lap}
[grid|start] position {rank}: {racer}, {nation}, {team}
{team} is happy: {racer} needed only {lap} for [one lap|a lap] in {city}
pos,driver,team,time\\n{rank},{racer},{team},{lap}
after 12 rounds in {city}, {racer} from {nation} is on place {rank}, lap time {lap}
Driver: {racer}\\nTeam: {team}\\nBest lap: {lap}
# dropoff: supplier=firmname packages=few kilos_total=kilo received_by=full driver=first \
street=address date=dayof order_no=ref
[delivery note|note] {order_no}: {packages} boxes, {kilos_total} kg, [to|for] {street}
{packages} packages ({kilos_total} kg) from {supplier}, [signed|taken in] by {received_by}
driver {driver} left {packages} boxes at {street} on {date}, {received_by} signed
Delivery note\\nFrom: {supplier}\\nOrder: {order_no}\\nBoxes: {packages}\\nWeight: {kilos_total} \
kg\\nSigned: {received_by}
{date} / {supplier} / {packages} boxes / {kilos_total} kg / {received_by}
{supplier} sent {packages} boxes for order {order_no}, but {driver} [brought|had] only 1
[goods in|incoming], {date}: {order_no}, {supplier}, {packages} packages, {street}
{received_by} at {street} [weighed|checked] it: {kilos_total} kg in {packages} boxes
# tracking: order_no=ref status=status courier=courier city=town customer=full date=dayof
order {order_no}: {status}
{order_no}, {customer}, status {status}, {courier}, [last seen|last scan] in {city}
[dear|hello] {customer}, your order {order_no} is [now|] "{status}". {courier} [handles|has] it
{date} {city} {courier} {order_no} {status}
order,customer,status\\n{order_no},{customer},{status}
[what happened|any news]? {courier} lists {order_no} as {status} since {date}
the [page|app] of {courier} says "{status}" for {order_no}, [place|depot]: {city}
Order: {order_no}\\nState: {status}\\nCarrier: {courier}\\nUpdated: {date}
# stocklist: sku=sku product=wares stock=count unit_price=money shelf_label=gatecode
{sku} {product} {stock} pcs {unit_price}
{sku};{product};{stock};{unit_price}\\n
item {sku} is the {product}, {unit_price} euros, {stock} [on hand|in the store room]
shelf {shelf_label}: {product} ({sku}), {stock} left
sku,name,qty,price\\n{sku},{product},{stock},{unit_price}
[reorder|low stock]! {product}, {sku}, only {stock} in bay {shelf_label}
Article: {product}\\nNo.: {sku}\\nStock: {stock}\\nShelf: {shelf_label}
[move|put] the {stock} pieces of {sku} to {shelf_label}, [new|next] price {unit_price}
<li id="{sku}">{product} <b>{unit_price}</b> ({stock} left)</li>
# buying: quantity=few products=plural customer=full order_total=money order_no=idnumber \
city=town due=dayof
PO {order_no}: {quantity} {products}, total {order_total}, by {due}
{customer} would like {quantity} {products} [delivered|sent] to {city} by {due}
{quantity} x {products}\\nTotal: {order_total}\\nName: {customer}
[make that|change it to] {quantity} {products}, not 1, [says|writes] {customer}. Order {order_no}
{customer} paid {order_total} for {quantity} {products}, order {order_no}, [to be sent|goes] to \
{city}
#{order_no} {customer} - {quantity} {products} - {city}
qty: {quantity}, item: {products}, [ship to|send to]: {city}, name: {customer}
[we need|please have] {quantity} {products} ready by {due} for {customer} from {city}
order;customer;item;qty\\n{order_no};{customer};{products};{quantity}
# hardware: quantity=count product=tool unit_price=cheap store=shopname customer=full
{quantity} x {product}, {unit_price} euros each, for {customer}
{store} has {quantity} units of {product} at {unit_price}
[need|get] {product} ({quantity}) from {store} [today|tomorrow], [about|around] {unit_price} euros
{customer} [took|loaded] {quantity} units of {product}, price {unit_price}, [on account|not yet \
paid]
Item: {product}\\nPieces: {quantity}\\nUnit price: {unit_price}\\nCustomer: {customer}
{store}: {product} {quantity} @ {unit_price}
put {quantity} units of {product} aside for {customer}, [price|cost] {unit_price} euros
# kitchen: dish=dish servings=few minutes=mins oven=oven grams=hundreds ingredient=crop \
calories=hundreds
{dish} (serves {servings}): {grams} g of {ingredient}, {minutes} minutes at {oven} degrees
take {grams} g of {ingredient} for {servings} people, bake at {oven} degrees for {minutes} minutes
{dish}: {calories} kcal per plate, {servings} plates
Dish: {dish}\\nServes: {servings}\\nOven: {oven}\\nBake for: {minutes} min
1. heat the oven to {oven} degrees\\n2. cut {grams} g of {ingredient}\\n3. bake for {minutes} \
minutes
[one helping|a plate] of {dish} has {calories} kcal and [takes|needs] {minutes} minutes
[with|from] {grams} grams of {ingredient} you get {dish} for {servings}
{minutes} min / {servings} portions: {dish}
# lunchroom: child=first group=petname allergen=allergen guardian=full phone=phone2
{child} [must not|cannot] have {allergen}. [In an emergency call|Call] {guardian}, {phone}
allergy list, group {group}: {child} - {allergen}
{guardian} ({phone}) [picks up|collects] {child} from the {group} group
Child: {child}\\nGroup: {group}\\nAllergy: {allergen}\\nParent: {guardian}\\nTel: {phone}
[careful|note], {child} in {group} is allergic to {allergen}
child;group;allergy;contact\\n{child};{group};{allergen};{guardian}
the {group} group has a new child, {child}, [parent|mother]: {guardian}, tel. {phone}
# lending: borrower=full library_card=ref book=book.0 author=book.1 due_back=dayof fine=money \
genre=genre
card {library_card}: {book} due {due_back}
{borrower} (card {library_card}) has to pay {fine} euros for {book}
{book} / {author} / lent to {borrower} / back by {due_back}
[overdue|late]: {book}, {author}. Card {library_card}, fine {fine} euros
Reader: {borrower}\\nCard: {library_card}\\nTitle: {book}\\nBack by: {due_back}
on the shelf for {borrower}: {book} by {author}, [to be fetched|please fetch] by {due_back}
card,reader,title,author,due\\n{library_card},{borrower},{book},{author},{due_back}
{borrower} [also|] asks for a {genre} besides {book}
# bookshop: book=book.0 author=book.1 published=book.2 unit_price=money copies=few store=shopname
{author}: {book}. {published}. {unit_price} euros
{copies} copies of {book} ({author}) at {unit_price} euros
{store} [ordered|sold] {copies} copies of {book}, [first|] printed in {published}
"{book}", {author}, {published}, [second hand|used], {unit_price} EUR
title,author,year\\n{book},{author},{published}
[secondhand|old] copy: {book} by {author}, edition of {published}, {unit_price} euros at {store}
{author} ({published}). {book}
# vetvisit: pet=petname species=animal2 owner=full ill=petill vet=doctor2 pet_kilos=kilo \
chip=idnumber date=dayof
{pet} ({species}, {pet_kilos} kg): {ill}
{vet} saw {pet}, the {species} of {owner}, reason: {ill}
{date}: {pet}, {species}, owner {owner}, {ill}, {vet}
Animal: {species}\\nName: {pet}\\nWeight: {pet_kilos}\\nOwner: {owner}\\nReason: {ill}
chip {chip} is registered to {owner}, [animal|pet]: {pet}, a {species}
{owner} [brings|is bringing] {pet} on {date}, [suspected|maybe] {ill}; it weighs {pet_kilos} kg
pet,species,kg,chip\\n{pet},{species},{pet_kilos},{chip}
{vet} [weighed|looked at] {pet}: {pet_kilos} kg[, chip {chip}|], [treatment|therapy] for {ill}
# flatad: rooms=few size=sizecm rent=thousands deposit=thousands city=town floor=few \
free_from=dayof phone=phone2
{rooms} rooms, {size} sqm, {city}, rent {rent}, deposit {deposit}
{city}: {rooms}-room flat, floor {floor}, {size} sqm, from {free_from}, tel. {phone}
[to let|for rent] from {free_from}: flat in {city}, {rent} euros [a month|monthly], deposit \
{deposit}
Rent: {rent}\\nDeposit: {deposit}\\nRooms: {rooms}\\nFloor: {floor}\\nFree from: {free_from}
[sunny|quiet|central] flat on floor {floor}, {rooms} rooms, {rent} euros plus 90 for heating, \
[call|ring] {phone}
our flat in {city} has {size} square metres on floor {floor}, you can [move in|have it] on \
{free_from}
city,rooms,size,rent\\n{city},{rooms},{size},{rent}
the landlord asks {rent} euros rent and {deposit} euros deposit for {size} square metres
# househunt: street=address agent=full viewing=dayof time=clock rooms=few phone=phone2
viewing: {street}, {viewing}, {time}, [with|agent] {agent}
{agent} ({phone}) [will be|waits] at {street} on {viewing} at {time}
[bring|take] your papers to {street} at {time}, [ask|look] for {agent}
Address: {street}\\nViewing: {viewing} {time}\\nAgent: {agent}, {phone}
{rooms} rooms at {street}: {agent} [opens|unlocks] the door at {time}
{viewing} {time} {street} ({rooms} rooms) {agent} {phone}
# pharmacy: patient=full medicine=medicine dose=hundreds per_day=doses days=small prescriber=doctor2
{patient}: {medicine} {dose} mg, {per_day} times a day, {days} days
Rx {medicine} {dose} mg, {prescriber}
{prescriber} [prescribed|put] {patient} on {medicine}, {dose} mg
take {medicine} {per_day} times a day for {days} days, [signed|says] {prescriber}
Patient: {patient}\\nDrug: {medicine}\\nDose: {dose} mg\\nDoctor: {prescriber}
[for|to] {patient}: {per_day} x {dose} mg of {medicine} daily, [stop|end] after {days} days
drug,mg,per day,days\\n{medicine},{dose},{per_day},{days}
{patient} takes {dose} mg of {medicine}, not 5 mg, [confirms|notes] {prescriber}
# workout: exercise=exercise sets=few repeats=repeats load_kg=kilo name=first date=dayof
{exercise} {sets} x {repeats} @ {load_kg} kg
{name}, {date}: {exercise}, {sets} sets of {repeats}, {load_kg} kg
[today|this week] {name} does {sets} sets of {exercise}, {repeats} reps each
{exercise}: {sets} sets, {repeats} reps
Exercise: {exercise}\\nSets: {sets}\\nReps: {repeats}\\nWeight: {load_kg}
with {load_kg} kg on the bar, {name} managed {repeats} reps of {exercise} [in a row|without a break]
date,name,exercise,reps\\n{date},{name},{exercise},{repeats}
# tvguide: channel=channel programme=programme time=clock ends=clock presenter=full minutes=mins
{time} {channel} {programme} ({minutes} min)
{time}-{ends} {programme}, {channel}
[tonight|today] on {channel}: {programme} with {presenter} at {time}
{presenter} presents {programme} on {channel}, it runs for {minutes} minutes
Channel: {channel}\\nShow: {programme}\\nStart: {time}\\nEnd: {ends}
[record|tape] {programme} for me, {channel}, {time} to {ends}
{programme} moves to {channel}, [new time|from now on] {time}, [host|with] {presenter}
time,channel,show\\n{time},{channel},{programme}
# garden: plantname=plantname water_days=few height_cm=count venue=spot owner=first price=money
water the {plantname} in the {venue} every {water_days} days
{plantname}: {height_cm} cm, every {water_days} days
the {plantname} of {owner} is {height_cm} cm tall [now|by now]
{owner}'s {plantname} stands in the {venue} and gets water every {water_days} days
Plant: {plantname}\\nHeight: {height_cm} cm\\nWater every: {water_days} days\\nSpot: {venue}
{owner} paid {price} euros for a {plantname} of {height_cm} cm
# clothes: garment=garment sizeletter=sizeletter colour=adjcolour price=money customer=full \
order_no=idnumber
{garment}, {colour}, size {sizeletter}, {price} euros
{customer} [wants|would like] to swap the {colour} {garment} for size {sizeletter}, order {order_no}
return {order_no}: {garment} ({colour}, {sizeletter}), [refund|pay back] {price} euros to {customer}
do you have the {garment} in {colour}? My size is {sizeletter}. {customer}
Item: {garment}\\nColour: {colour}\\nSize: {sizeletter}\\nPrice: {price}
{sizeletter} / {colour} / {garment} / {price}
item,colour,size,price\\n{garment},{colour},{sizeletter},{price}
the {colour} {garment} [was|is] {price} euros, [sold|gone] to {customer} in {sizeletter}
# birdwatch: bird=bird sightings=small observer=full place=town date=dayof time=clock
{date}, {place}: {sightings} x {bird}, seen by {observer}
{observer} [counted|spotted] {sightings} specimens of {bird} near {place}
{time} - {bird} - {sightings} - {place}
Species: {bird}\\nCount: {sightings}\\nPlace: {place}\\nObserver: {observer}
on {date} at {time} {observer} saw a {bird} [over|close to] {place}
species,count,place,date\\n{bird},{sightings},{place},{date}
[never before|not since 1990] has {place} had so many: {sightings} for the {bird}, \
[writes|reports] {observer}
# removal: furniture=furniture width=sizecm height_cm=sizecm depth=sizecm price=thousands \
seller=full city=town
{furniture}, {width} x {depth} x {height_cm} cm
{furniture}: width {width} cm, height {height_cm} cm, depth {depth} cm
{seller} gives away a {furniture}, {width} cm wide, [only|] pick-up in {city}
for sale in {city}: {furniture}, {price} euros, {height_cm} cm high, {width} cm wide
Item: {furniture}\\nW: {width}\\nH: {height_cm}\\nD: {depth}\\nPrice: {price}
{seller} [asks|wants] {price} euros for the {furniture}, [that was 2000 new|a bargain]
[does|will] a {furniture} of {width} cm fit? {seller} [thinks|says] the wall has only 120
# fuelstop: fuel=fuel litres=kilo litre_price=fuelprice fuel_total=money pump=few plate=plateno \
city=town
pump {pump}: {litres} l {fuel}, {fuel_total} euros
{plate} [filled up|took] {litres} litres of {fuel} in {city}
{fuel} at {litre_price} a litre, {litres} litres, makes {fuel_total}
Pump: {pump}\\nFuel: {fuel}\\nLitres: {litres}\\nTotal: {fuel_total}
{city}: {fuel} now {litre_price} [per|a] litre
car {plate}, pump {pump}, {fuel_total} euros [to pay|please]
plate,fuel,litres,total\\n{plate},{fuel},{litres},{fuel_total}
# booking: guest=full hotel=stayname roomtype=roomtype check_in=dayof check_out=dayof adults=few \
children=few booking_code=ref total=money
{booking_code}: {guest}, {roomtype}, {check_in} to {check_out}
{hotel} confirms: {roomtype} from {check_in} until {check_out} for {guest}
{guest} + {adults} adults, {children} children, {hotel}, {total} euros
Booking: {booking_code}\\nGuest: {guest}\\nArrival: {check_in}\\nDeparture: {check_out}\\nRoom: \
{roomtype}
[dear guest|dear {guest}], your {roomtype} at {hotel} is ready on {check_in}, [code|booking code] \
{booking_code}
we are {adults} adults and {children} children and need a {roomtype} from {check_in} to {check_out}
guest,room,in,out,total\\n{guest},{roomtype},{check_in},{check_out},{total}
[cancel|please cancel] {booking_code} at {hotel}, {guest}, arrival {check_in}; we get {total} \
euros back
the {roomtype} costs {total} euros [in all|altogether], {hotel} takes {adults} adults [per \
room|in it]
# binday: waste=waste collected=dayof street=address time=clock city=town
{waste}: {collected}, from {time}
{waste} is collected in {street} on {collected}
[put|leave] the {waste} at the kerb of {street} before {time} on {collected}
the town of {city} [picks up|fetches] {waste} on {collected}, not earlier than {time}
Collection: {waste}\\nDate: {collected}\\nStreet: {street}
date,waste,street\\n{collected},{waste},{street}
# outofoffice: colleague=full absence=absence back_on=dayof stand_in=full phone=phone2 email=email
{colleague} is away because of {absence}, back on {back_on}
[I am out|out of office] until {back_on}. [Please write|Write] to {stand_in}, {email}. {colleague}
{colleague}: {absence}, [stand-in|covered by] {stand_in} ({phone})
[until|before] {back_on} {stand_in} does the work of {colleague}
Away: {colleague}\\nReason: {absence}\\nBack: {back_on}\\nCover: {stand_in}
{stand_in} fills in for {colleague}, [call|try] {phone} or {email}
absent;reason;until\\n{colleague};{absence};{back_on}
# factory: machine=machine part=part technician=full hours_down=halves next_service=dayof \
stamp=stamp price=money
{stamp} {machine}: {part} replaced by {technician}
{machine} stood still for {hours_down} hours, {part} [broken|worn out]
{technician} changed the {part} of the {machine}, [cost|price] {price} euros
the next check of the {machine} is on {next_service}, [says|plans] {technician}
Machine: {machine}\\nPart: {part}\\nTechnician: {technician}\\nDowntime: {hours_down} h\\nNext: \
{next_service}
machine;part;hours\\n{machine};{part};{hours_down}
[order|we need] a new {part} for the {machine}, {price} euros, before {next_service}
# campus: student=full student_no=idnumber degree=degree term=few university_town=town email=email
{student}, no. {student_no}, {degree}, term {term}
{student} studies {degree} in {university_town}, term {term}
{student_no} {student} <{email}> {degree}
[hello|dear professor], I am {student} ({student_no}) and study {degree} in term {term}
Student: {student}\\nNo.: {student_no}\\nSubject: {degree}\\nMail: {email}
number,name,degree,term\\n{student_no},{student},{degree},{term}
the [card|file] {student_no} belongs to {student}, [enrolled|a student] in {university_town}, \
{email}
# angling: angler=full fish=fish length_cm=count pet_kilos=kilo place=town date=dayof river=river
{angler}: {fish}, {length_cm} cm, {pet_kilos} kg
{angler} [landed|pulled out] a {fish} of {length_cm} cm on {date}
in the {river} near {place}, a {fish} weighing {pet_kilos} kg [took|swallowed] the bait
Catch: {fish}\\nLength: {length_cm}\\nWeight: {pet_kilos}\\nWater: {river}
{date}, {river}: {fish}, {pet_kilos} kg, caught by {angler}
name,fish,cm\\n{angler},{fish},{length_cm}
# gamenight: game=game players=few winner=first top_score=count beaten=first minutes=mins
{game}, {players} players: {winner} won with {top_score} points
{winner} beat {beaten} at {game} after {minutes} minutes
{beaten} [came last|lost], {winner} has {top_score} points ({game})
Game: {game}\\nPlayers: {players}\\nWinner: {winner}\\nPoints: {top_score}
{game} takes {minutes} minutes and is for {players} players
[who won|how was it]? {winner}, {top_score} points, {beaten} was [furious|sad]. We played {game}
game,winner,points\\n{game},{winner},{top_score}
# orchestra: musician=full instrument=instrument years_played=few rehearsal=dayof time=clock \
venue=spot
{musician}, {instrument}, [plays|playing] for {years_played} years
rehearsal {rehearsal}, {time}, {venue}: bring the {instrument}, {musician}
{musician} [plays|teaches] the {instrument} in the {venue}
after {years_played} years with the {instrument}, {musician} [gives up|stops]
Name: {musician}\\nInstrument: {instrument}\\nYears: {years_played}\\nNext rehearsal: {rehearsal}
[the seat|a place] next to {musician} is free, [we seek|wanted]: {instrument}, [start|from] \
{rehearsal}
name;instrument;years\\n{musician};{instrument};{years_played}
# releases: app=service release=versionno bugs=count developer=full date=dayof megabytes=hundreds
{app} {release} [is out|released]: {bugs} bugs fixed, {megabytes} MB
{date} {app} v{release} by {developer}
{developer} [shipped|pushed] {app} {release} on {date}
upgrade {app} to {release} ({megabytes} MB) [today|now]
App: {app}\\nVersion: {release}\\nSize: {megabytes} MB\\nReleased: {date}
commit by {developer}: bump {app} to {release}, close {bugs} bugs
name,version,size\\n{app},{release},{megabytes}
[since|from] version {release}, {app} has had {bugs} bugs fewer, [thanks to|says] {developer}
# printer: file=filename pages_printed=count printed_by=username time=time
{time} print job {file}, {pages_printed} pages, user {printed_by}
{printed_by} printed {file} at {time}
{file}: {pages_printed} pages, [sent|queued] by {printed_by}
Job: {file}\\nOwner: {printed_by}\\nPages: {pages_printed}
user={printed_by} file="{file}" pages={pages_printed}
job {file} of {printed_by} [stopped|stuck] after 3 of {pages_printed} pages
# waterways: river=river level_cm=hundreds city=town time=clock date=dayof
{river} at {city}: {level_cm} cm ({time})
[flood warning|warning] for {city}: the {river} [rose|climbs] to {level_cm} cm
at {time} on {date} the {river} stood at {level_cm} cm in {city}
River: {river}\\nGauge: {city}\\nLevel: {level_cm}
river,place,level\\n{river},{city},{level_cm}
ships on the {river} [must stop|wait] in {city} above {level_cm} cm
# hikers: climber=full peak=mountain up_metres=metresup hut=few date=dayof hours=halves
{climber} [climbed|reached] {peak} on {date}
{peak} ({up_metres} m), {hours} hours, {climber}
hut below {peak}, {up_metres} m: {hut} beds free on {date}
Peak: {peak}\\nHeight: {up_metres} m\\nTime: {hours} h\\nLeader: {climber}
{climber} needed {hours} hours to {peak}, the hut had {hut} beds [left|free]
summit book of {peak}: "{climber}, {date}"
date,name,peak\\n{date},{climber},{peak}
# sensors: sensor=ref room_temp=indoors humidity=percent battery=percent stamp=stamp venue=spot
{sensor} {stamp} t={room_temp} h={humidity} bat={battery}
sensor {sensor} ({venue}): {room_temp} degrees, humidity {humidity}%
{stamp}, {venue}: {room_temp} C, battery {battery} percent
{"sensor": "{sensor}", "temp": {room_temp}, "battery": {battery}}
[alarm|alert]: {sensor} in the {venue} [reports|measures] {room_temp} degrees
the battery of {sensor} is down to {battery} percent, humidity in the {venue} is {humidity} percent
stamp;sensor;temp;humidity\\n{stamp};{sensor};{room_temp};{humidity}
# auction: auction_lot=hundreds thing=furniture bidder=full bid=thousands estimate=thousands \
city=town
lot {auction_lot}: {thing}, estimate {estimate}, sold for {bid}
lot {auction_lot} goes to {bidder} for {bid} euros
{bidder} [bid|offered] {bid} euros for the {thing}, [though|while] the estimate was {estimate}
going once, going twice, sold: the {thing} to {bidder} for {bid}
Lot: {auction_lot}\\nItem: {thing}\\nEstimate: {estimate}\\nFinal bid: {bid}\\nBuyer: {bidder}
the {thing} was expected to bring {estimate} euros in {city}, [but|and] {bidder} paid {bid}
lot,item,bid\\n{auction_lot},{thing},{bid}
# speeding: licence=plateno speed=speed limit=limit street=address officer=full time=clock \
fine=money
{licence}: {speed} km/h at {street}, {time}
{licence} [went|drove] {speed} in a {limit} zone, fine {fine} euros
{officer} stopped {licence} at {street} at {time}, {speed} km/h, [allowed|permitted]: {limit}
Plate: {licence}\\nSpeed: {speed}\\nLimit: {limit}\\nFine: {fine}\\nOfficer: {officer}
plate;speed;limit\\n{licence};{speed};{limit}
[object|I object]: {licence} was not at {street} at {time}, and {fine} euros is [too much|unfair]
# timesheet: worker=full project=topic hours_worked=halves hourly=money week=rank total=thousands
week {week}: {worker}, {hours_worked} h, {project}
{worker} [spent|booked] {hours_worked} hours on the {project} in week {week}
{hours_worked} h x {hourly} euros, [project|for]: {project}, {worker}
Name: {worker}\\nProject: {project}\\nHours: {hours_worked}\\nRate: {hourly}
[please pay|we pay] {worker} {total} euros for {hours_worked} hours at {hourly}
week,name,hours\\n{week},{worker},{hours_worked}
the {project} cost us {total} euros in week {week}, {worker} alone [did|worked] {hours_worked} hours
# moved: topic=topic old_date=dayof new_date=dayof organiser=full venue=roomname
{topic}: {old_date} is off, new date {new_date}
{organiser} moved the {topic} from {old_date} to {new_date}
[not|no longer] {old_date} but {new_date}: {topic}, {venue}
the {topic} [planned|set] for {old_date} will now be on {new_date}. {organiser}
Subject: {topic}\\nOld: {old_date}\\nNew: {new_date}\\nPlace: {venue}
[sorry all|dear team], {old_date} does not suit {organiser}. {topic} is on {new_date} in {venue}
topic,before,after\\n{topic},{old_date},{new_date}
# exam: trainee=full subject=lesson marks=percent max_marks=hundreds teacher=titledteacher \
date=dayof
{trainee}: {marks}/{max_marks} in {subject}
{trainee} scored {marks} of {max_marks} points in {subject} on {date}
{subject} exam, {date}, marked by {teacher}: {trainee}, {marks} points
Candidate: {trainee}\\nSubject: {subject}\\nPoints: {marks} of {max_marks}\\nExaminer: {teacher}
name;subject;points\\n{trainee};{subject};{marks}
{teacher} [gives|gave] {trainee} {marks} points, the maximum is {max_marks}
# buspass: holder=full zone=few valid_until=dayof fare=money line=line bus_stop=spot
{holder}, zone {zone}, valid until {valid_until}
pass for {holder}: {zone} zones, {fare} euros, [expires|ends] {valid_until}
{line} [no longer stops|does not stop] at the {bus_stop}
[inspector|ticket check] on {line}: {holder}, zone {zone}, [expired|valid to] {valid_until}
Holder: {holder}\\nZone: {zone}\\nValid until: {valid_until}\\nPrice: {fare}
{holder} [got on|boarded] {line} at the {bus_stop} and paid {fare} euros
name,zone,expires\\n{holder},{zone},{valid_until}
# rideshare: driver=first origin=town destination=town departs=clock seats=few fare=money day=day \
phone=phone2
{driver} drives from {origin} to {destination} on {day}, {seats} seats [free|left], {fare} euros \
each
[lift|ride] offered: {origin} - {destination}, {day} {departs}, {seats} seats, call {phone}
{driver}: {origin} > {destination}, {departs}, {fare} euros
From: {origin}\\nTo: {destination}\\nDay: {day}, {departs}\\nSeats: {seats}\\nDriver: {driver}, \
{phone}
[anyone|who is] going to {destination}? I leave {origin} on {day} at {departs}. {driver}
driver,from,to,seats\\n{driver},{origin},{destination},{seats}
# translation: translator=full from_lang=language to_lang=language words_count=thousands \
file=filename due=dayof total=money
{file}: {from_lang} to {to_lang}, {words_count} words, by {due}
{translator} translates {file} from {from_lang} into {to_lang}
{words_count} words from {from_lang} to {to_lang} [cost|make] {total} euros, [quote|offer] by \
{translator}
File: {file}\\nFrom: {from_lang}\\nInto: {to_lang}\\nWords: {words_count}\\nDeadline: {due}
[ready on|due] {due}: {file}, {to_lang} version, {translator}
file,source,target\\n{file},{from_lang},{to_lang}
# vcard: name=full company=firmname position=trade email=email phone=phone2 website=website \
city=town
{name}\\n{position}, {company}\\nTel. {phone}\\n{email}
{name} ({position} at {company}): {phone}, {website}
BEGIN:VCARD\\nFN:{name}\\nORG:{company}\\nTEL:{phone}\\nEMAIL:{email}\\nEND:VCARD
[kind regards|yours sincerely]\\n{name}\\n{company}, {city}\\n{website}
for {company} in {city} [turn to|write to] {name}, {email}, or [call|phone] {phone}
name,company,phone,email\\n{name},{company},{phone},{email}
{name} has left {company}; the new {position} [can be reached|answers] on {phone}
{"name": "{name}", "tel": "{phone}", "mail": "{email}"}
Full name: {name}\\nFirm: {company}\\nMobile: {phone}\\nWeb: {website}
# callcentre: caller=full phone=phone2 topic=topic priority=level case_no=idnumber taken_by=first \
time=clock
call {case_no}, {time}: {caller}, {phone}, about the {topic}, priority {priority}
{taken_by} spoke to {caller} about the {topic}, [ticket|case] {case_no}
[please ring|ring] {caller} back on {phone} [today|soon], case {case_no}, {priority} priority
Case: {case_no}\\nCaller: {caller}\\nTel: {phone}\\nTopic: {topic}\\nPriority: {priority}
case;caller;topic\\n{case_no};{caller};{topic}
{caller} called twice, [first|once] at {time}, [taken|noted] by {taken_by}: {topic}
# speaking: speaker=full topic=topic begins=clock ends=clock room=roomname company=firmname
{begins} {speaker} ({company}): {topic}
{begins}-{ends}, {room}: {speaker} on the {topic}
[next|now] on stage: {speaker} of {company} with the {topic}, until {ends}
Slot: {begins} - {ends}\\nSpeaker: {speaker}\\nTopic: {topic}\\nRoom: {room}
{speaker} from {company} [replaces|stands in for] the ill speaker at {begins} in {room}
time,speaker,room\\n{begins},{speaker},{room}
# announcement: line=line destination=town platform=small minutes_late=mins \
delay_reason=delayreason via=town
[ladies and gentlemen|dear passengers], {line} to {destination} via {via} is running \
{minutes_late} minutes behind
{line} towards {destination} [stops|will stop] at platform {platform} instead
owing to {delay_reason}, {line} [does not call|will not stop] at {via}; [delay|about] \
{minutes_late} minutes
[we apologise|sorry] for a wait of {minutes_late} minutes: {delay_reason} near {via}
passengers for {via} and {destination}, [please use|take] platform {platform}
Line: {line}\\nTo: {destination}\\nVia: {via}\\nDelay: {minutes_late} min\\nPlatform: {platform}
line;to;delay\\n{line};{destination};{minutes_late}
# survey: name=first age=age city=town colour=adjcolour pastime=hobby pet=petname
{name}, {age}, {city}. Hobby: {pastime}. [Colour|Favourite colour]: {colour}
Question 1: name? {name}\\nQuestion 2: age? {age}\\nQuestion 3: home town? {city}
name={name}&age={age}&city={city}&hobby={pastime}
{name} is {age}, likes {pastime} and the colour {colour}, and has a pet called {pet}
[pupil|new member] no. 7: {name} ({age}) from {city}, [into|loves] {pastime}
name,age,city,hobby\\n{name},{age},{city},{pastime}
<name>{name}</name><age>{age}</age><city>{city}</city>
[my friend|my cousin] {name} from {city} paints everything {colour} and [is only|is] {age}
# fleet: brand=brand plate=plateno km=thousands driver=full next_service=dayof fuel=fuel
{plate} {brand} {km} km {driver}
{driver} has the {brand}, {plate}, [mileage|odometer] {km}
{brand} ({fuel}), plate {plate}: next service on {next_service}
Car: {brand}\\nPlate: {plate}\\nKm: {km}\\nDriver: {driver}\\nNext service: {next_service}
plate,model,km\\n{plate},{brand},{km}
[the keys|the papers] of {plate} are with {driver}, [fill up|it takes] {fuel} only
at {km} km the {brand} goes to the garage, [that is|booked for] {next_service}, {driver} \
[drives|brings] it
# concert: song=song.0 artist=song.1 song_length=tracklength channel=channel listener=first
{song} - {artist} ({song_length})
{channel} [plays|just played] {song} by {artist} for {listener}
1. {song}, {artist}, {song_length}
[request|wish] of {listener}: {song} ({artist}) on {channel}
song;artist;length\\n{song};{artist};{song_length}
Title: {song}\\nBand: {artist}\\nLength: {song_length}
{artist} sings {song} for {song_length} minutes, {listener} [claps|sings along]
"""
TEXTS = extraction_texts.blocks(_TEXTS.replace("\\t", "\t"))
