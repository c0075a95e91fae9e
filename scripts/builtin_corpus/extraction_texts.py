"""Texts from which values are taken: twenty-odd kinds of records and the sentences that state them.

A block begins with `# kind: field=drawer ...`; every other line is a pattern (see `grammar.py`)
whose slots are the fields. Called by `extraction.py`, and by `wordings.py` for the honesty test.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from . import values, words

Value = str | int | float

DRAW: dict[str, Callable[[Random], Value]] = {
    "person": values.person,
    "first": values.first_name,
    "doctor": values.titled,
    "place": values.place,
    "firm": values.firm,
    "word": values.word,
    "filename": values.file_name,
    "code": values.code,
    "phone": values.phone,
    "product": values.product,
    "products": values.products,
    "date": values.date,
    "time": values.time,
    "price": values.price,
    "title": values.title,
    "day": lambda r: r.choice(words.DAYS),
    "month": lambda r: r.choice(words.MONTHS),
    "colour": lambda r: r.choice(words.COLOURS),
    "animal": lambda r: r.choice(words.ANIMALS),
    "fruit": lambda r: r.choice(words.FRUITS),
    "job": lambda r: r.choice(words.JOBS) if r.random() < 0.7 else values.word(r),
    "language": lambda r: r.choice(words.LANGUAGES),
    "age": lambda r: r.randint(2, 98),
    "small": lambda r: r.randint(2, 30),
    "count": lambda r: r.randint(1, 150),
    "number": lambda r: values.number(r, 6),
    "hundreds": lambda r: r.randint(100, 999),
    "year": lambda r: r.randint(1850, 2030),
    "temperature": lambda r: r.choice([r.randint(1, 45), r.randint(10, 300) / 10]),
    "email": lambda r: values.email_of(values.person(r), r),
    "street": lambda r: values.surname(r) + r.choice([" Street", " Road", " Lane", " Avenue"]),
    "subject": lambda r: r.choice(
        ["maths", "history", "biology", "music", "physics", "art", "geography", values.word(r)]
    ),
    "department": lambda r: r.choice(
        ["sales", "support", "finance", "design", "research", "legal", "marketing", "logistics"]
    ),
    "currency": lambda r: r.choice(["euros", "dollars", "pounds", "yen", "francs", "rupees"]),
    "level": lambda r: r.choice(["low", "high", "urgent", "normal", "medium", "critical"]),
    "sport": lambda r: r.choice("tennis chess rowing golf judo skiing fencing boxing".split()),
    "dish": lambda r: r.choice("pasta soup salad rice pizza curry stew cake".split()),
    "meeting": lambda r: r.choice(
        ["team", "board", "budget", "design", "sales", "summer", "yearly", values.word(r)]
    ) + " " + r.choice(["meeting", "review", "workshop", "dinner", "party", "concert", "call",
                        "lecture", "training", "fair", "briefing"]),
}  # fmt: skip

# The other names under which a field may be asked for.
ALIASES = {
    "name": "name full_name person who employee user member",
    "age": "age age_years",
    "city": "city town place location",
    "job": "job profession occupation role position",
    "email": "email mail email_address contact",
    "company": "company employer firm organisation business",
    "phone": "phone telephone phone_number tel mobile",
    "customer": "customer client buyer customer_name name",
    "quantity": "quantity qty count pieces",
    "product": "product item article goods",
    "order": "order order_id order_number id number",
    "price": "price cost total amount",
    "title": "title event event_name what",
    "date": "date when on event_date",
    "day": "day weekday",
    "time": "time start hour start_time",
    "room": "room room_number hall",
    "people": "people guests attendees participants persons",
    "host": "host organizer speaker leader",
    "patient": "patient name patient_name who",
    "doctor": "doctor physician with",
    "sender": "sender from from_name",
    "recipient": "recipient to receiver addressee",
    "weight": "weight kg weight_kg",
    "tracking": "tracking tracking_code code parcel_id id",
    "book": "title book book_title",
    "author": "author writer written_by",
    "year": "year",
    "pages": "pages page_count length",
    "guest": "guest guest_name booked_by visitor",
    "hotel": "hotel hotel_name",
    "nights": "nights stay duration",
    "sensor": "sensor device sensor_id",
    "temperature": "temperature temp degrees value",
    "humidity": "humidity percent",
    "flight": "flight flight_number number",
    "passenger": "passenger traveller name",
    "origin": "origin from departure_city leaving_from",
    "destination": "destination to arrival target",
    "gate": "gate gate_number",
    "seat": "seat seat_number",
    "film": "film movie title",
    "director": "director directed_by",
    "minutes": "minutes duration length runtime",
    "invoice": "invoice invoice_number number id",
    "due": "due due_date deadline pay_by",
    "colour": "colour color",
    "model": "model car_model",
    "owner": "owner owned_by keeper",
    "plate": "plate licence_plate registration",
    "kilometres": "kilometres km mileage",
    "student": "student pupil name",
    "subject": "subject course class",
    "score": "score points marks grade result",
    "school": "school university",
    "pet": "pet pet_name",
    "animal": "animal species kind type",
    "street": "street street_name road",
    "house": "house house_number number",
    "rooms": "rooms room_count",
    "rent": "rent price monthly_rent",
    "department": "department team division",
    "salary": "salary pay income",
    "amount": "amount sum value total",
    "currency": "currency unit money",
    "error": "error error_code code",
    "level": "level priority severity urgency",
    "ticket": "ticket ticket_id case id",
    "team": "team club first_team",
    "opponent": "opponent against second_team",
    "goals": "goals score points",
    "dish": "dish meal food recipe",
    "table": "table table_number",
    "language": "language tongue",
    "month": "month",
    "sport": "sport hobby game",
    "file": "file filename file_name",
    "size": "size bytes file_size",
    "version": "version release",
    "shelf": "shelf shelf_number",
    "stock": "stock in_stock available",
    "password": "password secret pin",
    "winner": "winner winning_team champion winner_name",
    "loser": "loser losing_team runner_up",
    "pill": "pill medicine drug medication",
    "times": "times times_a_day daily frequency",
    "member": "member member_name name subscriber",
    "plan": "plan tariff subscription",
    "fee": "fee monthly_fee price cost",
    "plant": "plant flower plant_name",
    "height": "height height_cm cm",
    "runner": "runner athlete name",
    "place_number": "place rank position",
    "race_city": "city town where race_city",
    "donor": "donor giver name given_by",
    "cause": "cause charity purpose",
    "course": "course class title course_name",
    "teacher": "teacher trainer instructor tutor",
    "hours": "hours duration length",
    "ship": "ship vessel ship_name",
    "captain": "captain skipper commander",
    "harbour": "harbour port dock",
    "tenant": "tenant renter name",
    "meter": "meter meter_number meter_id",
    "reading": "reading meter_reading value kwh",
    "item": "item object lost_item thing",
    "finder": "finder found_by found_from",
    "spot": "spot where found_at location",
    "position": "position job job_title vacancy",
    "shop": "shop store shop_name",
    "opens": "opens opening_time open_from",
    "closes": "closes closing_time open_until",
}

_TEXTS = """
# person: name=person age=age city=place job=job email=email company=firm phone=phone
[write down|note|for the file]: {name} is {age}, [lives|at home] in {city}
[did you know that|i heard that|it turns out that] {name} [now works|works] for {company}
in {city}[,|] {name} [found|took|lost] a job as a {job}
{company} [says|announced|confirms] that {name} [is their new|becomes] {job}
[the number to dial is|dial|use] {phone} [for|to reach|if you need] {name}
[the person in charge|the contact|our guest|the new tenant] is {name}[, {age}|] from {city}
{city} is where {name} [grew up|feels at home|spends the winter]
{age} candles were on the cake of {name}
[not|no longer] a child at {age}, {name} left for {city}
{email} is [where to write to|the mail of|the address of] {name}
"I am {name} and I work for {company}", [she|he] said
{name} is {age} years old and lives in {city}
{name} ({age}) lives in {city}[ and works as a {job}|]
{name}, {age}, [works|has a job|found work] as a {job} in {city}
[my colleague|my neighbour|our friend|my cousin|the new member] {name} [is {age}|just turned {age}]
[my colleague|my neighbour|our friend|my boss] {name} [comes from|grew up in|has moved to] {city}
[last year|in the spring|yesterday|two weeks ago] {name} [started|began] as a {job} at {company}
[at the age of {age}|aged {age}], {name} [became|is still] a {job}
{name} [earns money|makes a living] as a {job} [with|at] {company}
[hello, i'm|hi, my name is|good morning, i am] {name}, i'm {age} and i live in {city}
[you can|please|feel free to] [reach|contact|email|write to] {name} [at|under|on] {email}
{name}'s [email|address|mail address] is {email}
{name} from {company} [can be called on|has the number|answers the phone under] {phone}
[call|phone|ring] {name} [on|at|under] {phone}
{name}, phone {phone}, mail {email}
the [phone number|number] of {name} is {phone}
Name: {name}, Age: {age}, City: {city}
Name: {name}\\nJob: {job}\\nCompany: {company}
[employee|contact|person|user]: {name}, {email}, {phone}
the {job} {name} [moved|went|returned] to {city} [to work for|to join] {company}
{company} [has hired|is looking for|promoted] {name}, a {job} from {city}
{name} left {city} [when she was|when he was|at] {age}
[signed|regards|best wishes|yours], {name}, {job}, {company}
[she is|he is|this is] {name}, a {age}-year-old {job}
a {job} [named|called|by the name of] {name} [rang|visited us|wrote in] from {city}
# order: customer=person quantity=count product=products order=number price=price city=place
{quantity} {product}, please, for {customer}
{price} [euros|dollars] [is what|was all] {customer} paid for {quantity} {product}
[the parcel for|the box for] {customer} [holds|contains] {quantity} {product}
{city} [is where|wants] {quantity} {product} [must go|by friday]
can you [send|ship|get] {quantity} {product} to {customer}, order {order}
[she|he] [signed|wrote] "{customer}" under an order of {quantity} {product}
out of stock: order {order}, {quantity} {product}, {customer} [was told|knows]
{quantity} {product} at {price} [euros|dollars] [in all|altogether]: that is order {order}
{customer} [purchased|wants|would like|asked for] {quantity} {product}
{customer} [purchased|acquired] {quantity} {product} for {price} [euros|dollars]
{customer} [paid|pays|owes] {price} [euros|dollars] for {quantity} {product}
order [number |no. |#|]{order} [contains|includes|is for|has] {quantity} {product}
order [number |no. |#|]{order} from {customer}[, {city}|]: {quantity} {product}
order {order}: {quantity} x {product}, {price} [euros|dollars]
[please |]send {quantity} {product} to {customer} in {city}
[please |]deliver {quantity} {product} to {city}[. the order number is {order}|, order {order}]
{quantity} {product} were [shipped|sent|delivered] to {customer} in {city} [today|last night|]
we [sold|sent|shipped] {quantity} {product} to {customer}[ for {price} euros|]
the total for {quantity} {product} is {price} [euros|dollars]
[a customer from {city}|somebody in {city}] [ordered|took] {quantity} {product}
[invoice|receipt|bill]: {quantity} {product}, {price} EUR, {customer}
{customer} returned {quantity} {product} [because they were broken|and wants {price} euros back]
[i'd like|i want|i'll take] {quantity} {product}, [my name is|i am|this is] {customer}
Order: {order}\\nCustomer: {customer}\\nItem: {product}\\nQuantity: {quantity}
[we received|here is|there is] an order from {customer} for {quantity} {product}
{customer} from {city} cancelled order {order}
[the price of|the cost of] {quantity} {product} [went up|fell|rose] to {price} [euros|dollars]
# event: title=meeting date=date day=day time=time room=number people=small host=person city=place
[put|mark] {date} in your [diary|calendar]: {title} in {city}
{time} on {day} [suits us|is fine] for the {title}
who [comes|is coming] to the {title}? {people} people so far, [says|writes] {host}
[because of rain|as the hall is taken|by popular demand], the {title} is now on {day} at {time}
{host} [asked us|wants us] to come to room {room} at {time}
the doors of room {room} open at {time} for the {title}
[there are|we have] {people} seats at the {title} in {city}
the {title} [is|takes place|will be held|happens|starts] on {day} at {time}
the {title} [is|takes place|will be held|happens] [in|at] {city} on {date}
the {title} [starts|begins] at {time} in room {room}
[join us for|come to|don't forget|remember] the {title} on {date} at {time}
on {date} at {time}[,|] {host} [leads|hosts|opens|gives] the {title}
{host} [invites|has invited|is inviting] {people} people to the {title} in {city}
{people} [people|guests|persons] [are expected at|signed up for|will attend] the {title} on {date}
we [moved|shifted|postponed] the {title} to {day}, {time}[, room {room}|]
[next|this] {day} at {time}: {title} in room {room}
room {room}[,|:] {title}, {day} {time}
Event: {title}, Date: {date}, Time: {time}
Event: {title}\\nWhere: {city}\\nWhen: {date}
the {title} with {host} is on {date}
the {title} was cancelled on {day}
[you are invited to|save the date for|see you at] the {title} on {date} in {city}
{host} [will speak|speaks|is speaking] at the {title} at {time}
# appointment: patient=person doctor=doctor day=day time=time date=date phone=phone
can {doctor} [see|take] {patient} on {day} at {time}
{day} at {time} is when {doctor} [sees|examines|meets] {patient}
{patient} [forgot|missed|cancelled] the visit to {doctor} on {date}
{patient} has an appointment with {doctor} on {day} at {time}
{patient} [sees|will see|is seeing|visits] {doctor} on {date}[ at {time}|]
[appointment|visit|slot] for {patient}[:|,] {day}, {time}[, with {doctor}|]
{doctor} [can see|expects|is waiting for] {patient} on {day} at {time}
{patient} [called|phoned|rang] from {phone} to [change|cancel|move] the appointment on {date}
[please |]book {patient} with {doctor} at {time} on {day}
the appointment of {patient} was moved to {date}, {time}
{doctor} [is away|has no time] on {day}, so {patient} comes at {time}
# parcel: sender=person recipient=person weight=small tracking=code city=place day=day
{weight} kg [is the weight|was weighed|shows the scale] for parcel {tracking}
{recipient} in {city} [never got|is still missing] the parcel from {sender}
look for {tracking}[, it should be|: it is] in {city} on {day}
{sender} [asks|wants to know] where parcel {tracking} for {recipient} is
{sender} [sent|mailed|posted|shipped] a parcel of {weight} kg to {recipient} in {city}
a parcel from {sender} [to|for] {recipient} [arrived|is on its way|got lost][ in {city}|]
parcel {tracking} weighs {weight} kg and goes to {city}
[the |]tracking code [of the parcel for {recipient}|for {recipient}] is {tracking}
parcel {tracking} [will arrive|arrives|is due] on {day}
{recipient} [picks up|collects|is waiting for] parcel {tracking} in {city}
From: {sender}, To: {recipient}, Weight: {weight} kg
package {tracking}, {weight} kg, {sender} to {recipient}
[the courier|the driver] brings {recipient} in {city} a box of {weight} kg on {day}
# book: book=title author=person year=year pages=hundreds price=price
on page {pages}, the last one, "{book}" by {author} ends
{pages} pages [are in|make up] "{book}"
[critics|readers|we all] loved "{book}", [a novel|a story] by {author} from {year}
"{book}" [is a book|is a novel|was written|was published] by {author}
{author} [wrote|published|finished] "{book}" in {year}
"{book}" by {author} has {pages} pages
the book "{book}" [came out|appeared|was published] in {year}[ and has {pages} pages|]
i [read|borrowed|bought] "{book}" by {author}[ for {price} euros|]
"{book}" costs {price} [euros|dollars] and [was printed in|dates from] {year}
in {year} {author} [surprised everyone|won a prize] with "{book}"
Title: {book}, Author: {author}, Pages: {pages}
# hotel: guest=person hotel=title nights=small room=hundreds city=place price=price date=date
[for|after] {nights} nights in room {room}[,|] {guest} [paid the bill|left a good review|moved on]
room {room} [awaits|is kept for] {guest} on {date}
{nights} nights in {city} at {price} euros each [suit|are fine with] {guest}
{guest} [stays|is staying|will stay] {nights} nights at the {hotel} hotel in {city}
{guest} [booked|reserved|wants] room {room} for {nights} nights
{guest} [booked|reserved] a room in {city} for {price} [euros|dollars] a night
{guest} [arrives|checks in] on {date} and stays {nights} nights
the {hotel} in {city} [charges|costs|asks for] {price} euros[ for {nights} nights|]
room {room} is [taken|booked] by {guest} [for {nights} nights|from {date}]
[reservation|booking]: {guest}, {nights} nights, room {room}
{guest}, hotel {hotel}, {city}, {date}
[we confirm|this confirms] the booking of {guest} at hotel {hotel} from {date}
# sensor: sensor=code temperature=temperature humidity=age room=word time=time
{temperature} degrees [is what|is all] sensor {sensor} [shows|reports] at {time}
[in|inside] the {room}[:|,] {temperature} degrees, {humidity} percent
[alarm|warning|log]: {sensor} at {temperature} degrees, {time}
sensor {sensor} [measured|reports|shows|reads] {temperature} degrees[ at {time}|]
sensor {sensor} in the {room} [measured|reports|shows] {temperature} degrees
at {time} the {room} had {temperature} degrees and {humidity} percent humidity
[device|unit|sensor] {sensor}: {temperature} C, {humidity} %
the temperature in the {room} is {temperature} degrees, humidity {humidity} percent
{time} {sensor} temp={temperature} hum={humidity}
sensor {sensor} sits in the {room}[ and sent its last value at {time}|]
# flight: passenger=person flight=code origin=place destination=place gate=small seat=code time=time
{destination} is [where|the place] {passenger} flies from {origin}
at {time} {passenger} leaves {origin} for {destination}
seat {seat} on {flight} [belongs to|is for|goes to] {passenger}
[last call|boarding]: flight {flight} to {destination}, gate {gate}
{passenger} [flies|is flying|travels] from {origin} to {destination}[ on flight {flight}|]
flight {flight} [leaves|departs] from gate {gate} at {time}
flight {flight} [goes|flies] from {origin} to {destination}[, departure {time}|]
{passenger} has seat {seat} on flight {flight}
the flight of {passenger} to {destination} is [delayed until|now at] {time}
the train from {origin} to {destination} leaves at {time}
passenger {passenger}, flight {flight}, seat {seat}
[we land|we arrive|i arrive] in {destination} at {time} with flight {flight}
{flight} {origin}-{destination} {time} gate {gate}
[take|book] {passenger} a ticket from {origin} to {destination}
# film: film=title director=person year=year minutes=hundreds
{minutes} minutes [long|is the length]: "{film}" by {director}
[tonight|on sunday] we show "{film}", [made|shot] by {director} in {year}
"{film}" was directed by {director} in {year}
the film "{film}" [lasts|runs|takes] {minutes} minutes
{director} made "{film}" in {year}
"{film}" ({year}) by {director}, {minutes} minutes
we [saw|watched] "{film}" by {director}[, it took {minutes} minutes|]
# invoice: invoice=number company=firm amount=price currency=currency due=date
{amount} {currency} [is what|are what] {company} [asks|wants] for invoice {invoice}
[remember|do not forget] invoice {invoice}: {amount} {currency} until {due}
by {due} {company} [must have|expects] {amount} {currency}
invoice {invoice} from {company} [is|amounts to|is for|says] {amount} {currency}
invoice [number |]{invoice} [is due|must be paid|has to be paid] [on|by] {due}
{company} [sent|issued] invoice {invoice} over {amount} {currency}
[please |]pay {amount} {currency} to {company} [by|before|until] {due}
{company} [wants|asks for|charges|owes us] {amount} {currency}
Invoice: {invoice}, Amount: {amount} {currency}, Due: {due}
[we still owe|i transferred] {company} {amount} {currency}[ for invoice {invoice}|]
# car: owner=person model=title colour=colour year=year plate=code kilometres=number
{plate} is the plate of the {colour} {model}
[after|with] {kilometres} km {owner} still drives the {model}
{year} was the year [when|in which] {owner} bought the {model}
{owner} drives a {colour} {model} from {year}
{owner} [sold|bought|owns|parked] a {colour} {model}[ with the plate {plate}|]
the {colour} {model} has [run |done |]{kilometres} km
a {colour} car with the plate {plate} belongs to {owner}
the {model} was built in {year} and has {kilometres} kilometres on the clock
{model}, {colour}, {year}, {kilometres} km
[stolen|found|for sale]: {colour} {model}, plate {plate}
# student: student=person subject=subject score=age school=title year=year
{score} points [is what|are what] {student} got in {subject}
[well done|congratulations], {student}: {score} points in {subject}
{school} [praises|remembers|admitted] {student} in {year}
{student} [got|has|scored|received] {score} points in {subject}
{student} [studies|takes|teaches] {subject} at {school}[ school|]
in {subject}[,|] {student} [reached|earned] {score} points
{student} [left|finished|joined] {school} in {year}
the best in {subject} was {student} with {score} points
Student: {student}, Subject: {subject}, Score: {score}
# pet: pet=first animal=animal age=small owner=person
{owner} has a {animal} [called|named] {pet}
{pet} is a {age} year old {animal}[ and belongs to {owner}|]
the {animal} {pet} [lives with|is owned by|ran away from] {owner}
{pet}, {animal}, {age} years, owner {owner}
the {animal} of {owner} is called {pet} and turned {age}
[we met|i saw] {owner} with a {animal} whose name is {pet}
# flat: street=street house=count city=place rooms=small rent=number owner=person
[a flat|an apartment|a house] with {rooms} rooms in {city} [costs|rents for|is] {rent} a month
{owner} lives at {house} {street}, {city}
[the flat|the house] at {house} {street} has {rooms} rooms
{owner} [rents|lets] [a flat|a house] in {street} for {rent} [euros|dollars]
[send it|deliver it|come] to {house} {street} in {city}
[for rent|to let]: {rooms} rooms, {street}, {rent} euros
# staff: name=person department=department salary=number date=date job=job
{salary} a [month|year] [is the salary of|goes to] {name} in {department}
{department} [lost|got|welcomes] {name} on {date}
{name} works in [the |]{department}[ department| team|] and earns {salary}
{name} [joined|left|moved to] [the |]{department} [team|department] on {date}
the salary of {name} in {department} is {salary} [euros|dollars]
{name} is the {job} of the {department} [team|department]
from {date} on {name} [leads|runs|heads] {department}
[we welcome|say hello to] {name}, our new {job} in {department}
# transfer: sender=person recipient=person amount=price currency=currency date=date
{amount} {currency} [came|arrived] from {sender} for {recipient}
{recipient} thanks {sender} for [the |]{amount} {currency}
[did|has] {sender} [pay|paid] {recipient} the {amount} {currency} on {date}
{sender} [sent|paid|transferred|lent|owes|gave] {recipient} {amount} {currency}
{sender} [sent|paid|transferred] {amount} {currency} to {recipient}[ on {date}|]
{recipient} [got|received] {amount} {currency} from {sender}[ on {date}|]
on {date} {amount} {currency} went from {sender} to {recipient}
# support: ticket=number name=person error=hundreds level=level product=product
{level} priority: {name} [is stuck with|reports] error {error}
{name} writes: my {product} shows error {error}
{error} is the error that {name} sees, ticket {ticket}
ticket {ticket}: {name} [sees|gets|reports] error {error}
{name} [has a problem with|complains about|cannot use] the {product}[, priority {level}|]
ticket {ticket} has [the |]priority {level}
[the |]{product} of {name} [shows|stops with] error {error}
error {error} on the {product}, reported by {name}
{name} opened a {level} ticket about the {product}
# match: team=place opponent=place goals=small sport=sport date=date
{team} [beat|defeated|played|won against] {opponent} [on {date}|with {goals} goals]
{team} [scored|shot] {goals} goals against {opponent}
{opponent} lost to {team} on {date}
the {sport} match between {team} and {opponent} is on {date}
# restaurant: guest=person dish=dish table=small people=small time=time price=price
[bring|serve] the {dish} to table {table}, {guest} is hungry
{people} [people|guests] at table {table}[, under|: the name is] {guest}
{time}, table for {people}, {guest}
{guest} [ordered|wants|had|ate] the {dish} at table {table}
table {table} [wants|ordered] the {dish} for {price} euros
a table for {people} [people|persons|guests] at {time}, [the name is|under the name] {guest}
{guest} [booked|reserved] table {table} for {people} [people|guests] at {time}
the {dish} is {price} [euros|dollars] today
{guest} comes with {people} [people|friends] at {time}
# file: file=filename size=number owner=first date=date version=small
the file {file} has {size} bytes and belongs to {owner}
{owner} [changed|saved|uploaded|deleted] {file} on {date}
version {version} of {file} was [released|published|saved] on {date}
{file}, version {version}, was [written|edited|checked] by {owner}
{owner} uploaded {size} bytes
[please|can you] [open|send me|look at] {file}, {owner} [wrote|made] it on {date}
{size} bytes is the size of {file}
{date} {owner} {file} {size} bytes
# win: winner=place loser=place date=date goals=small sport=sport
{winner} [beat|defeated|won against|was too strong for] {loser} [on {date}|by {goals} goals]
{loser} lost [the {sport} final |]to {winner}[ on {date}|]
[no luck for {loser}|a sad day for {loser}]: {winner} [won|wins] on {date}
# medicine: patient=person pill=word times=small doctor=doctor day=day
{patient} [takes|needs|gets] {pill} {times} times a day
{doctor} [prescribed|ordered|recommends] {pill} for {patient}
{times} times a day[,|] {patient} [must|should] take {pill}, says {doctor}
{pill}, {times} times daily, for {patient}, until {day}
{doctor} stops the {pill} on {day}
# subscription: member=person plan=word fee=count date=date
{member} [has|chose|cancelled|switched to] the {plan} plan on {date}
{member} pays {fee} euros a month for the plan {plan}
the {plan} plan costs {fee} [euros|dollars] a month
[welcome|thank you], {member}! your plan is {plan}[, your fee {fee} euros|]
plan {plan} of {member} [ends|starts|is renewed] on {date}
# garden: plant=word height=count colour=colour owner=first month=month
the {plant} [grew|rose] to {height} cm in {month}
{owner} planted a {colour} {plant}[ in {month}|]
[in|since] {month} the {plant} of {owner} [is|has been] {height} cm tall
a {plant}, {colour}, {height} cm, [from the garden of|owner] {owner}
# race: runner=person place_number=small minutes=count race_city=place year=year
{runner} [finished|came in|ended up] on place {place_number} in {race_city}
{runner} ran {minutes} minutes in {race_city} in {year}
in {year} {runner} needed {minutes} minutes [and came in|for] place {place_number}
place {place_number}: {runner}, {minutes} minutes
# donation: donor=person amount=price currency=currency cause=title date=date
{donor} [gave|donated|left] {amount} {currency} [to|for] {cause}
{cause} [got|received|collected] {amount} {currency} from {donor}[ on {date}|]
on {date} {donor} [supported|helped] {cause} with {amount} {currency}
# course: course=word teacher=person hours=small room=hundreds day=day fee=count
{teacher} [teaches|gives|runs] {course} on {day}[ in room {room}|]
[the course|the class] {course} [lasts|takes] {hours} hours and costs {fee} euros
{course}: {day}, room {room}, {teacher}
[sign up|register] for {course} with {teacher}, {hours} hours, {fee} euros
# ship: ship=title captain=person harbour=place date=date people=count
the {ship} [left|reached|entered] {harbour} on {date}
captain {captain} [steers|commands|takes] the {ship} to {harbour}
{people} people [are|were] on board the {ship}[ when it left {harbour}|]
{harbour}, {date}: the {ship} under captain {captain}
# meter: tenant=person meter=code reading=number date=date house=count
meter {meter} [shows|stands at|reads] {reading} [on {date}|kwh]
{tenant} reports {reading} kwh on meter {meter}
[reading|value] of meter {meter} [at {tenant}'s|in house {house}]: {reading}
on {date} {tenant} [read|noted] {reading} kwh
# lost: item=product owner=person finder=first spot=place day=day
{owner} lost a {item} in {spot} on {day}
{finder} found a {item} in {spot}
the {item} of {owner} was [found|handed in] by {finder}[ on {day}|]
[lost|missing]: {item}, owner {owner}, last seen in {spot}
# vacancy: position=job company=firm city=place salary=number date=date
{company} [seeks|needs|is hiring] a {position} in {city}[ from {date} on|]
[we offer|they pay|the pay is] {salary} euros for a {position} at {company}
[wanted|vacancy|job ad]: {position}, {city}, {salary} euros
apply as a {position} at {company} by {date}
# hours: shop=firm opens=time closes=time day=day city=place
{shop} in {city} opens at {opens} and closes at {closes}
on {day} {shop} is open from {opens} [to|until|till] {closes}
[the doors of |]{shop} [close|are shut] at {closes} on {day}
# shop: product=product price=price colour=colour stock=count shelf=code
{price} [euros|dollars] [buys|gets you] the {product}
only {stock} [pieces are|are] left of the {product} at {price} [euros|dollars]
shelf {shelf} [has|holds] the {product}
the {product} [is sold for|sells at|goes for] {price} [euros|dollars]
we have {stock} [pieces of the {product}|of the {product}|{product} units] [left|on shelf {shelf}]
the {product} [is|stands|lies] on shelf {shelf}
{product}, {price} euros, {stock} in stock
[item|product|article]: {product}, price: {price}, stock: {stock}
the {product} [went down|went up] to {price} euros, {stock} are left
# speaker: name=person language=language city=place sport=sport year=year
{name} [speaks|teaches|is learning|translates] {language} in {city}
{name} plays {sport}[ and speaks {language}|]
{name} [was born|came to the world] in {city} in {year}
{name} [won|started with] {sport} in {year}
born in {year}, {name} [grew up in|comes from] {city}
"""


def blocks(text: str) -> dict[str, tuple[dict[str, str], list[str]]]:
    """The drawers of each kind's fields, and its patterns, of a text in this module's format."""
    out: dict[str, tuple[dict[str, str], list[str]]] = {}
    fields: dict[str, str] = {}
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith("# "):
            kind, rest = line[2:].split(": ", 1)
            fields, lines = dict(pair.split("=", 1) for pair in rest.split()), []
            out[kind] = (fields, lines)
        else:
            lines.append(line.replace("\\n", "\n"))
    return out


TEXTS = blocks(_TEXTS)
SLOT = re.compile(r"\{(\w+)\}")


def regex_of(drawer: str) -> str:
    """What a value of this drawer looks like in normalised text (see `grammar.normalise`)."""
    if drawer in ("age", "small", "count", "number", "hundreds", "year"):
        return r"\d+"
    if drawer in ("price", "temperature"):
        return r"\d+(?: \d+)?"
    if drawer in ("day", "month", "colour", "animal", "language", "level", "word", "first"):
        return r"\w+"
    if drawer in ("email", "date", "phone", "title", "filename"):
        return r"\w+(?: \w+){0,3}"
    return r"\w+(?: \w+)?"
