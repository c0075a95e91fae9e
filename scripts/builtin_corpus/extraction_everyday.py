"""Everyday texts from which values are taken: messages, tickets, receipts, reviews, notices.

`extraction.py` draws most of its texts here, and `wordings.py` reads the patterns for the honesty
test. The format is that of `extraction_texts.py`, but the values are what people really write
about: common names and towns, known books and films, prices with cents. Greetings, sign-offs and
sentences that do not matter stand around the facts.
"""

# ruff: noqa: SIM905  (a split sentence is easier to read and edit than a list of quoted words)
from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random

from . import extraction_everyday_more, extraction_texts, values, words
from .grammar import articles, expand, normalise

Value = str | int | float
SLOT = extraction_texts.SLOT

FIRST = (
    values.FIRST_NAMES + words.NAMES
    + (
        "Ahmed Aicha Alejandro Ali Andrea Andrew Anita Arjun Ben Brian Bruce Carol Chiara Cindy "
        "Claudia Dave Deborah Dennis Diego Donna Dorothy Emily Erika Farid Fatou Francesca Gary "
        "Giulia Gloria Hassan Hiroshi Hussein Irene Jamal Janet Jason Javier Jean Jessica Joanna "
        "Joyce Julian Justin Karim Katrin Keith Kevin Khadija Larry Leila Leon Linda Lorenzo "
        "Louise Lukas Manuel Marie Mario Mateo Matteo Melissa Mohammed Monica Nancy Natalie "
        "Nicole Nikolai Omar Pamela Pat Pedro Pierre Rahul Ramon Ricardo Rob Roger Ron Rose Roy "
        "Sabine Sally Sanjay Sean Sharon Sophie Stefan Sunita Svetlana Tariq Teresa Thomas Tony "
        "Tyler Valentina Vikram Wei Wendy William Yan Zainab"
    ).split()
)  # fmt: skip
LAST = (
    values.SURNAMES
    + (
        "Adams Ali Allen Anderson Baker Barnes Bennett Campbell Chen Collins Cook Cooper Cox "
        "Delgado Dixon Edwards Fernandez Fernando Ferrari Flores Gomez Gonzalez Graham Hamid "
        "Hassan Hernandez Holm Horvat Howard Hussain Jackson Kelly Kennedy Lambert Laurent Leroy "
        "Lin Liu Mahmoud Marshall Mbeki Mitchell Muller Nowak Osei Parker Perry Phillips Popescu "
        "Rahman Ribeiro Robinson Rodriguez Romano Ross Russell Sanchez Santos Schneider Sharma "
        "Simmons Stewart Svensson Thompson Tran Vogel Weiss Williams Yang Zimmermann O'Brien"
    ).split()
)  # fmt: skip


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", " ").split(",")]


ROADS = _list(
    """High Street, Park Road, Mill Lane, Station Road, Church Street, Oak Avenue, Main Street,
    Rose Lane, King Street, Hill Road, Lake View, Bridge Street, Elm Street, Garden Road, Market
    Square, Green Lane, Queen's Road, Harbour Street"""
)
TOWNS = words.CITIES + _list(
    """Aarhus, Antwerp, Atlanta, Austin, Baltimore, Bangkok, Barcelona, Basel, Beijing, Beirut,
    Belfast, Belgrade, Bilbao, Birmingham, Bologna, Bordeaux, Bremen, Bristol, Brussels, Bucharest,
    Budapest, Buenos Aires, Cambridge, Cape Town, Cardiff, Casablanca, Cologne, Copenhagen, Cork,
    Dallas, Denver, Detroit, Dortmund, Dresden, Dubai, Edinburgh, Florence, Frankfurt, Galway,
    Ghent, Glasgow, Gothenburg, Granada, Graz, Hong Kong, Houston, Innsbruck, Kingston, Krakow,
    Leeds, Leipzig, Lille, Liverpool, Ljubljana, Los Angeles, Luxembourg, Malaga, Malmo,
    Manchester, Marseille, Melbourne, Mexico City, Miami, Nantes, New York, Nice, Nottingham,
    Oxford, Palermo, Perth, Philadelphia, Phoenix, Pittsburgh, Portland, Rotterdam, Salzburg,
    San Diego, San Francisco, Seattle, Seville, Shanghai, Singapore, Stockholm, Strasbourg,
    Stuttgart, Taipei, Tallinn, Tampere, The Hague, Utrecht, Valencia, Vancouver, Venice, Verona,
    Vilnius, Washington, Wellington, York"""
)
COUNTRIES = _list(
    """Argentina, Australia, Austria, Belgium, Bolivia, Brazil, Bulgaria, Cambodia, Canada, Chile,
    China, Colombia, Croatia, Cuba, Denmark, Ecuador, Egypt, Estonia, Ethiopia, Finland, France,
    Germany, Ghana, Greece, Hungary, Iceland, India, Indonesia, Ireland, Italy, Jamaica, Japan,
    Jordan, Kenya, Latvia, Malaysia, Malta, Mexico, Morocco, Namibia, Nepal, New Zealand, Nigeria,
    Norway, Pakistan, Panama, Peru, Poland, Portugal, Romania, Senegal, Serbia, Slovakia, Slovenia,
    South Africa, South Korea, Spain, Sri Lanka, Sweden, Switzerland, Tanzania, Thailand, Tunisia,
    Turkey, Uganda, Ukraine, Uruguay, Vietnam, Zambia"""
)
_BOOKS = """
1984/George Orwell/1949;Animal Farm/George Orwell/1945;Emma/Jane Austen/1815
Pride and Prejudice/Jane Austen/1813;Dracula/Bram Stoker/1897;Frankenstein/Mary Shelley/1818
Jane Eyre/Charlotte Bronte/1847;Wuthering Heights/Emily Bronte/1847;Ulysses/James Joyce/1922
Moby Dick/Herman Melville/1851;Walden/Henry David Thoreau/1854;The Trial/Franz Kafka/1925
War and Peace/Leo Tolstoy/1869;Anna Karenina/Leo Tolstoy/1878;The Stranger/Albert Camus/1942
Crime and Punishment/Fyodor Dostoevsky/1866;The Idiot/Fyodor Dostoevsky/1869
Great Expectations/Charles Dickens/1861;Oliver Twist/Charles Dickens/1838
The Great Gatsby/F. Scott Fitzgerald/1925;The Hobbit/J. R. R. Tolkien/1937
Brave New World/Aldous Huxley/1932;Fahrenheit 451/Ray Bradbury/1953;Dune/Frank Herbert/1965
Neuromancer/William Gibson/1984;Foundation/Isaac Asimov/1951;Solaris/Stanislaw Lem/1961
To Kill a Mockingbird/Harper Lee/1960;The Catcher in the Rye/J. D. Salinger/1951
Beloved/Toni Morrison/1987;The Color Purple/Alice Walker/1982;Middlemarch/George Eliot/1871
Mrs Dalloway/Virginia Woolf/1925;Orlando/Virginia Woolf/1928;Lolita/Vladimir Nabokov/1955
The Old Man and the Sea/Ernest Hemingway/1952;Persuasion/Jane Austen/1817
One Hundred Years of Solitude/Gabriel Garcia Marquez/1967
Treasure Island/Robert Louis Stevenson/1883
The Name of the Rose/Umberto Eco/1980;Siddhartha/Hermann Hesse/1922;Steppenwolf/Hermann Hesse/1927
The Magic Mountain/Thomas Mann/1924
Buddenbrooks/Thomas Mann/1901
Faust/Johann Wolfgang von Goethe/1808
Les Miserables/Victor Hugo/1862;Madame Bovary/Gustave Flaubert/1857;The Plague/Albert Camus/1947
The Handmaid's Tale/Margaret Atwood/1985;Things Fall Apart/Chinua Achebe/1958
Half of a Yellow Sun/Chimamanda Ngozi Adichie/2006;Norwegian Wood/Haruki Murakami/1987
Kafka on the Shore/Haruki Murakami/2002;The Alchemist/Paulo Coelho/1988;Holes/Louis Sachar/1998
The Remains of the Day/Kazuo Ishiguro/1989;Wolf Hall/Hilary Mantel/2009;Atonement/Ian McEwan/2001
White Teeth/Zadie Smith/2000;Life of Pi/Yann Martel/2001;The Road/Cormac McCarthy/2006
The Secret History/Donna Tartt/1992;Carrie/Stephen King/1974;Matilda/Roald Dahl/1988
Little Women/Louisa May Alcott/1868;Heidi/Johanna Spyri/1881;Peter Pan/J. M. Barrie/1911
The Time Machine/H. G. Wells/1895;Around the World in Eighty Days/Jules Verne/1873
Murder on the Orient Express/Agatha Christie/1934
The Hound of the Baskervilles/Arthur Conan Doyle/1902
"""
_FILMS = """
Casablanca/Michael Curtiz/1942;Psycho/Alfred Hitchcock/1960;Vertigo/Alfred Hitchcock/1958
Jaws/Steven Spielberg/1975;Jurassic Park/Steven Spielberg/1993;Alien/Ridley Scott/1979
Blade Runner/Ridley Scott/1982;Gladiator/Ridley Scott/2000;Titanic/James Cameron/1997
Avatar/James Cameron/2009;Inception/Christopher Nolan/2010;Memento/Christopher Nolan/2000
Interstellar/Christopher Nolan/2014;Pulp Fiction/Quentin Tarantino/1994;Rocky/John Avildsen/1976
The Godfather/Francis Ford Coppola/1972
Taxi Driver/Martin Scorsese/1976
Amelie/Jean-Pierre Jeunet/2001
Goodfellas/Martin Scorsese/1990;Citizen Kane/Orson Welles/1941;Metropolis/Fritz Lang/1927
Modern Times/Charlie Chaplin/1936
Seven Samurai/Akira Kurosawa/1954
Spirited Away/Hayao Miyazaki/2001
Parasite/Bong Joon-ho/2019;Roma/Alfonso Cuaron/2018;Gravity/Alfonso Cuaron/2013
The Shining/Stanley Kubrick/1980;Fargo/Joel Coen/1996;Barbie/Greta Gerwig/2023
Lady Bird/Greta Gerwig/2017;Lost in Translation/Sofia Coppola/2003;The Piano/Jane Campion/1993
The Matrix/Lana Wachowski/1999;Forrest Gump/Robert Zemeckis/1994;Fight Club/David Fincher/1999
Seven/David Fincher/1995;Annie Hall/Woody Allen/1977;Manhattan/Woody Allen/1979
Solaris/Andrei Tarkovsky/1972;Stalker/Andrei Tarkovsky/1979;Persona/Ingmar Bergman/1966
Moonlight/Barry Jenkins/2016;Get Out/Jordan Peele/2017;Toy Story/John Lasseter/1995
Ratatouille/Brad Bird/2007;Coco/Lee Unkrich/2017;Heat/Michael Mann/1995;Up/Pete Docter/2009
Some Like It Hot/Billy Wilder/1959
Sunset Boulevard/Billy Wilder/1950
Whiplash/Damien Chazelle/2014
"""
_SONGS = """
Imagine/John Lennon;Hey Jude/The Beatles;Yesterday/The Beatles;Let It Be/The Beatles;Halo/Beyonce
Bohemian Rhapsody/Queen;Africa/Toto;Thriller/Michael Jackson;Billie Jean/Michael Jackson
Like a Prayer/Madonna;Purple Rain/Prince;Heroes/David Bowie;Space Oddity/David Bowie
Hello/Adele;Skyfall/Adele;Creep/Radiohead;Clocks/Coldplay;Yellow/Coldplay;Waterloo/Abba
Dancing Queen/Abba;Hotel California/Eagles;Wonderwall/Oasis;Zombie/The Cranberries
Jolene/Dolly Parton;Respect/Aretha Franklin;Superstition/Stevie Wonder;One Love/Bob Marley
Redemption Song/Bob Marley;Hallelujah/Leonard Cohen;Suzanne/Leonard Cohen;Fast Car/Tracy Chapman
Rolling in the Deep/Adele;Smooth Operator/Sade;Hurt/Johnny Cash;Blue Suede Shoes/Elvis Presley
Rehab/Amy Winehouse;Valerie/Amy Winehouse;Shake It Off/Taylor Swift;Firework/Katy Perry
Umbrella/Rihanna;Diamonds/Rihanna;Royals/Lorde;Bad Guy/Billie Eilish;Angels/Robbie Williams
No Woman No Cry/Bob Marley;What a Wonderful World/Louis Armstrong;Summertime/Ella Fitzgerald
"""
_ART = """
The Starry Night/Vincent van Gogh;Sunflowers/Vincent van Gogh;Guernica/Pablo Picasso
The Kiss/Gustav Klimt;The Scream/Edvard Munch;Mona Lisa/Leonardo da Vinci;Olympia/Edouard Manet
The Night Watch/Rembrandt;The Milkmaid/Johannes Vermeer;Water Lilies/Claude Monet
Nighthawks/Edward Hopper;The Two Fridas/Frida Kahlo;Campbell's Soup Cans/Andy Warhol
Las Meninas/Diego Velazquez;The Birth of Venus/Sandro Botticelli;The Great Wave/Hokusai
American Gothic/Grant Wood;The Persistence of Memory/Salvador Dali;The Dance/Henri Matisse
"""


def _rows(text: str) -> list[tuple[str, ...]]:
    return [tuple(row.split("/")) for row in text.strip().replace("\n", ";").split(";")]


# Drawers of which several columns belong together: `book.0` is the title, `book.1` its author.
TOGETHER = {"book": _rows(_BOOKS), "film": _rows(_FILMS), "song": _rows(_SONGS),
            "art": _rows(_ART)}  # fmt: skip

_LISTS = {
    "country": COUNTRIES,
    "gadget": _list(
        "printer, laptop, projector, scanner, coffee machine, dishwasher, router, heater, "
        "screen, lift, air conditioner, fridge, copier, tablet, keyboard, speaker, camera, "
        "radiator, lamp, washing machine, microwave, phone, door lock, smoke alarm, mouse, "
        "oven, TV, headset, toaster, monitor"),
    "spot": _list(
        "kitchen, lobby, library, canteen, basement, garage, bathroom, living room, "
        "reception, conference room, second floor, main hall, bedroom, workshop, classroom, "
        "attic, staff room, warehouse, sales office, waiting room, gym, corridor, east wing, "
        "laundry room"),
    "trouble": _list(
        "paper jam, broken screen, strange noise, bad smell, slow connection, leak, "
        "flickering light, dead battery, blocked filter, cracked case, loose cable, red "
        "light, missing key, frozen screen, blown fuse, broken switch, rattling fan, empty "
        "cartridge, black screen, weak signal, software error, stuck button, faulty plug, "
        "water leak"),
    "damage": _list(
        "a broken window, water damage, a stolen bike, a car accident, a kitchen fire, a "
        "burst pipe, storm damage, a lost suitcase, a broken leg, a flooded cellar, hail "
        "damage, a stolen phone, a scratched door, a dented bumper, a fallen tree, a "
        "cancelled flight"),
    "goods": _list(
        "oat milk, brown bread, coffee, bananas, olive oil, cheese, orange juice, rice, "
        "tomatoes, green tea, butter, eggs, dark chocolate, toothpaste, batteries, soap, "
        "pasta, chicken, yoghurt, apples, potatoes, honey, shampoo, cat food, light bulbs, "
        "printer paper, a sandwich, a cappuccino, a notebook, a magazine, sunscreen, dish "
        "soap, garlic, onions"),
    "wares": _list(
        "desk lamp, office chair, tea pot, rain jacket, running shoes, phone case, backpack, "
        "water bottle, yoga mat, headphones, alarm clock, wool blanket, frying pan, board "
        "game, suitcase, coffee grinder, mountain bike, bookshelf, garden hose, hair dryer, "
        "toaster, umbrella, camping tent, vacuum cleaner, electric kettle, wall clock, "
        "leather wallet, wireless mouse, USB cable, sun hat, sleeping bag, electric drill, "
        "mirror, sofa"),
    "plural": _list(
        "notebooks, pens, coffee mugs, desk lamps, chairs, light bulbs, towels, shirts, "
        "candles, cushions, tulips, roses, pizzas, cupcakes, sandwiches, tickets, posters, "
        "T-shirts, batteries, envelopes, folders, bottles of wine, boxes, plates, glasses, "
        "forks, pillows, blankets, USB sticks, keyboards, monitors, headsets, flower pots, "
        "croissants, bagels"),
    "belonging": _list(
        "umbrella, black wallet, red scarf, house key, phone, blue backpack, watch, laptop "
        "bag, gold ring, glasses, green jacket, passport, teddy bear, hat, bicycle helmet, "
        "earring, camera, brown glove, lunch box, library card, silver necklace, grey coat"),
    "where": _list(
        "cafeteria, bus, train, gym, cinema, park, library, church, lobby, car park, swimming "
        "pool, changing room, museum, airport, taxi, school yard, hotel bar, town hall"),
    "shopname": _list(
        "Corner Market, Green Grocer, Lidl, Tesco, Aldi, Carrefour, Walmart, IKEA, City "
        "Pharmacy, Baker's Street, Daily Mart, Sunrise Cafe, Spar, Target, Costco, Book Barn, "
        "Fresh & Fine, Kiosk 24, Rewe, Tool Town, Migros, Coop, Whole Foods, Station Shop"),
    "stayname": _list(
        "Grand Hotel, Hotel Central, Sea View Inn, Park Hotel, Hotel Astoria, Mountain Lodge, "
        "Hotel Bristol, The Old Mill, Hotel Miramar, Harbour Inn, Hotel Europa, City Hostel, "
        "Lake House, Hotel Splendid, The Ritz, Garden Hotel, Hotel Adler, Sunset Motel"),
    "restaurant": _list(
        "Golden Dragon, La Piazza, The Red Lion, Chez Marie, Taj Mahal, Bella Napoli, Sushi "
        "House, The Green Table, Casa Pepe, Athena, Burger Barn, Le Jardin, Saigon Kitchen, "
        "The Oak, Blue Lagoon, Pizza Roma, Thai Garden, El Toro, Noodle Bar, Old Tavern"),
    "courier": _list(
        "DHL, UPS, FedEx, GLS, Royal Mail, DPD, Hermes, PostNord, Evri, La Poste"),
    "vehicle": _list(
        "van, minibus, bicycle, scooter, convertible, pickup truck, camper, motorbike, small "
        "car, estate car, e-bike, trailer, canoe, boat, kayak, tandem, SUV, jeep"),
    "brand": _list(
        "Toyota Corolla, VW Golf, Ford Focus, Fiat 500, Honda Civic, BMW, Audi A4, Renault "
        "Clio, Opel Corsa, Tesla Model 3, Volvo V70, Skoda Octavia, Mazda 3, Mini Cooper, "
        "Nissan Leaf, Kia Ceed, Peugeot 208, Seat Ibiza, Hyundai i30, Citroen C3, Dacia "
        "Duster"),
    "weather": _list(
        "rain, snow, sunshine, thick fog, thunderstorms, light rain, strong wind, hail, clear "
        "skies, clouds, showers, heavy snow, drizzle, blue sky, sleet, mild air, frost"),
    "ailment": _list(
        "sore throat, back pain, headache, check-up, flu shot, toothache, blood test, rash, "
        "cough, swollen knee, earache, fever, sprained ankle, eye test, stomach ache, cold"),
    "topic": _list(
        "budget, new website, summer party, hiring plan, office move, sales figures, "
        "quarterly report, safety training, product launch, school trip, road map, annual "
        "review, customer survey, marketing plan, holiday schedule, price list, security "
        "audit, logo design"),
    "roomname": _list(
        "Blue Room, conference room, Room 12, Room 204, library, main hall, cafe, board room, "
        "Room 7, garden room, Room 31, meeting room, Studio B, small office, Room 118"),
    "petname": _list(
        "Bella, Luna, Max, Rocky, Coco, Milo, Simba, Daisy, Oreo, Nala, Toby, Buddy, Charlie, "
        "Lucky, Ginger, Shadow, Snowball, Biscuit, Pepper, Bruno, Tiger, Poppy, Felix, Rex"),
    "animal2": _list(
        "dog, cat, rabbit, hamster, parrot, guinea pig, horse, tortoise, beagle, poodle, "
        "goldfish, pony, canary, ferret, labrador, terrier, kitten, puppy, goat, lizard, "
        "budgie"),
    "lesson": _list(
        "maths, history, biology, chemistry, physics, English, French, geography, art, music, "
        "Latin, Spanish, economics, computer science, drama, German, philosophy, sports"),
    "gradeletter": _list(
        "A, B, C, D, B+, A-, C+, B-, A+, C-"),
    "club": _list(
        "Arsenal, Chelsea, Liverpool, Barcelona, Real Madrid, Bayern, Juventus, Ajax, Celtic, "
        "Porto, Benfica, Lyon, Sevilla, Napoli, Roma, Dortmund, Everton, Leeds, Lakers, "
        "Bulls, Celtics, Tigers, Red Sox, Eagles, Falcons, Inter, Monaco, Galatasaray, Wolves"),
    "dish": _list(
        "lasagne, apple pie, chicken soup, tomato soup, beef stew, pancakes, fish pie, "
        "mushroom risotto, carrot cake, vegetable curry, paella, potato salad, banana bread, "
        "chilli, goulash, onion tart, fried rice, moussaka, quiche, dumplings, cheesecake, "
        "ramen"),
    "ingredient": _list(
        "garlic, two eggs, fresh basil, flour, brown sugar, butter, lemon juice, cinnamon, "
        "coconut milk, olive oil, red onions, cream, parsley, ginger, black pepper, salt"),
    "trade": _list(
        "nurse, waiter, software developer, accountant, bus driver, chef, electrician, "
        "teacher, data analyst, cleaner, gardener, receptionist, web designer, mechanic, "
        "pharmacist, translator, sales manager, journalist, plumber, dentist, project "
        "manager, barista"),
    "cause": _list(
        "Red Cross, animal shelter, food bank, children's hospital, Greenpeace, school "
        "library, village church, refugee fund, UNICEF, sports club, fire brigade, Oxfam, "
        "local museum, cancer research, homeless shelter, youth orchestra, tree fund, Save "
        "the Children"),
    "museum": _list(
        "Louvre, Prado, British Museum, Rijksmuseum, Uffizi, Tate Modern, MoMA, Hermitage, "
        "Albertina, Guggenheim, Science Museum, Van Gogh Museum, Pergamon, Getty, Orsay, Vasa "
        "Museum"),
    "club2": _list(
        "gym, chess club, tennis club, rowing club, film society, choir, library, sailing "
        "club, book club, golf club, photo club, dance school, yoga studio, alpine club, judo "
        "club"),
    "tier": _list(
        "gold, silver, basic, family, student, premium, standard, annual, monthly, junior"),
    "repairjob": _list(
        "cracked screen, flat tyre, broken zip, leaking tap, worn brakes, oil change, new "
        "battery, loose heel, broken chain, torn sleeve, dead engine, stuck drawer, new strap"),
    "fixable": _list(
        "bike, phone, laptop, car, watch, coat, jacket, boots, guitar, violin, camera, "
        "washing machine, radio, sewing machine, lawn mower, motorbike, suitcase, armchair, "
        "clock"),
    "loglevel": _list(
        "ERROR, WARN, INFO, DEBUG, CRITICAL, NOTICE, FATAL"),
    "service": _list(
        "auth, billing, database, mailer, scheduler, web, cache, backup, payments, search, "
        "worker, proxy, uploader, nginx, cron, gateway, login, api, storage, monitor"),
    "fault": _list(
        "connection refused, disk full, timeout, login failed, file not found, out of memory, "
        "invalid token, access denied, restart done, job finished, bad request, no space "
        "left, backup started, cache cleared, permission denied, certificate expired, queue "
        "empty"),
    "chore": _list(
        "buy milk, water the plants, call the plumber, feed the cat, pay the rent, book the "
        "flights, wash the car, pick up the kids, post the letter, clean the oven, order the "
        "cake, fix the bike, take out the rubbish, walk the dog, renew the passport, return "
        "the books"),
    "play": _list(
        "Hamlet, Swan Lake, Carmen, The Lion King, Cats, Macbeth, La Boheme, Aida, Othello, "
        "Hamilton, Giselle, Tosca, The Nutcracker, Chicago, King Lear, Les Miserables, Don "
        "Giovanni"),
    "hobby": _list(
        "chess, pottery, yoga, salsa, guitar, painting, photography, tennis, swimming, "
        "karate, Spanish, cooking, piano, first aid, knitting, sewing, Italian, drawing, "
        "climbing"),
    "crop": _list(
        "wheat, potatoes, apples, tomatoes, corn, barley, grapes, carrots, olives, onions, "
        "cherries, sunflowers, pumpkins, strawberries, cabbage, lettuce, rice, beans, pears, "
        "plums"),
    "gift": _list(
        "a scarf, a book, a watch, concert tickets, a bike, flowers, chocolates, a puzzle, a "
        "camera, earrings, a voucher, a cookbook, a teapot, a board game, perfume, a football"),
    "occasion": _list(
        "birthday, wedding, graduation, anniversary, retirement, Christmas, name day, "
        "Mother's Day, housewarming, christening, engagement, farewell party, Father's Day"),
    "line": _list(
        "bus 12, tram 4, line 7, bus 101, the U3, the Central line, tram 9, bus 38, line 2, "
        "bus 240, the ferry, tram 17, the night bus, line 14, the airport bus, the S1"),
    "delayreason": _list(
        "snow, an accident, a strike, roadworks, a signal fault, heavy traffic, a storm, a "
        "power cut, fog, engine trouble, a fallen tree, flooding, a police operation"),
    "crime": _list(
        "burglary, bike theft, car theft, shoplifting, vandalism, fraud, noise complaint, "
        "pickpocketing, break-in, graffiti, trespassing, hit and run, phone theft"),
    "adjcolour": words.COLOURS,
    "day": words.DAYS,
    "month": words.MONTHS,
    "language": words.LANGUAGES,
    **extraction_everyday_more.LISTS,
}  # fmt: skip


def _full(rng: Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def _who(rng: Random) -> str:
    roll = rng.random()
    if roll < 0.6:
        return _full(rng)
    return rng.choice(FIRST) if roll < 0.85 else values.person(rng)


def _letters(rng: Random, count: int) -> str:
    return "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(count))


def _money(rng: Random) -> int | float:
    roll = rng.random()
    if roll < 0.3:
        return rng.choice([rng.randint(1, 99), rng.randint(1, 40) * 10, rng.randint(100, 2500)])
    cents = rng.choice([99, 95, 49, 90, 50, 25, 75, 80, 20, rng.randint(1, 99)])
    return round(rng.choice([rng.randint(0, 19), rng.randint(2, 499)]) + cents / 100, 2)


def _address(rng: Random) -> str:
    road = rng.choice(ROADS)
    return f"{rng.randint(1, 199)} {road}"


def _title(rng: Random) -> str:
    kind = rng.choice(["Mr", "Ms", "Mrs", "Mr", "Ms", "Dr", "Professor"])
    return f"{kind} {rng.choice(LAST)}"


DRAW: dict[str, Callable[[Random], Value]] = {
    **extraction_texts.DRAW,
    **{name: (lambda r, found=found: r.choice(found)) for name, found in _LISTS.items()},
    "who": _who,
    "full": _full,
    "first": lambda r: r.choice(FIRST),
    "doctor2": lambda r: f"{r.choice(['Dr.', 'Dr', 'Doctor'])} {r.choice(LAST)}",
    "titledteacher": _title,
    "town": lambda r: r.choice(TOWNS) if r.random() < 0.9 else values.place(r),
    "money": _money,
    "address": _address,
    "thousands": lambda r: r.choice([r.randint(4, 99) * 100, r.randint(400, 99999)]),
    "few": lambda r: r.randint(2, 14),
    "score": lambda r: r.randint(0, 9),
    "stars": lambda r: r.randint(1, 5),
    "mins": lambda r: r.choice([10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 75, 90, r.randint(5, 99)]),
    "percent": lambda r: r.randint(1, 99),
    "degrees": lambda r: r.choice([r.randint(2, 38), r.randint(2, 38), r.randint(10, 390) / 10]),
    "lately": lambda r: r.randint(1975, 2027),
    "idnumber": lambda r: r.randint(10, 99999),
    "policyno": lambda r: f"{_letters(r, r.choice([1, 2, 3]))}-{r.randint(100, 999999)}",
    "invoiceno": lambda r: r.choice(
        [f"INV-{r.randint(10, 9999)}", f"{r.randint(2019, 2027)}-{r.randint(1, 999):03d}",
         f"{_letters(r, 1)}{r.randint(1000, 99999)}"]),
    "parcelno": lambda r: f"{_letters(r, 2)}{r.randint(10000, 9999999)}",
    "ref": lambda r: f"{_letters(r, r.choice([2, 3]))}{r.choice(['-', ''])}{r.randint(10, 9999)}",
    "trainno": lambda r: f"{r.choice(['IC', 'RE', 'ICE', 'TGV', 'EC', 'R', 'RB'])} "
                         f"{r.randint(1, 999)}",
    "flightno": lambda r: f"{_letters(r, 2)}{r.choice(['', ' '])}{r.randint(10, 9999)}",
    "gatecode": lambda r: f"{r.choice('ABCDEFG')}{r.randint(1, 60)}",
    "plateno": lambda r: f"{_letters(r, 2)}{r.choice(['-', ' '])}{r.randint(10, 999)}"
                         f"{r.choice(['-', ' '])}{_letters(r, 2)}",
    "seatcode": lambda r: f"{r.randint(1, 40)}{r.choice('ABCDEF')}",
    "stamp": lambda r: f"2026-{r.randint(1, 12):02d}-{r.randint(1, 28):02d} "
                       f"{r.randint(0, 23):02d}:{r.randint(0, 59):02d}",
    **extraction_everyday_more.DRAW,
}  # fmt: skip

INTEGERS = set("thousands few score stars mins percent lately idnumber".split())
INTEGERS |= extraction_everyday_more.INTEGERS
PEOPLE = set("who full first person doctor2 titledteacher".split())

_ALIASES = """
device: device item equipment machine appliance broken_device
room_name: room location place area where
problem: problem issue fault description defect trouble
reporter: reporter name reported_by employee user caller
claimant: claimant name customer policyholder client
policy: policy policy_number policy_id contract
incident: incident damage cause event claim_type
amount: amount sum total value money
date: date on day_of_event when
item: item product article what purchase bought
price: price cost total amount
store: store shop shop_name merchant seller
origin: origin from start departure_city from_city
destination: destination to arrival to_city target_city
platform: platform track platform_number
time: time hour at clock_time
train: train train_number service train_id
flight_no: flight flight_number flight_id
gate: gate gate_number boarding_gate
traveller: traveller passenger passenger_name name
book: title book book_title work novel
author: author writer written_by author_name
year: year in_year year_number
film: film movie title movie_title
director: director directed_by filmmaker
stars: stars rating score
song: song track title song_title
artist: artist singer performer band musician
painter: artist painter created_by
listener: listener name person fan
visitor: visitor traveller name tourist person
country: country nation land destination
city: city town location place
pet: pet pet_name animal_name
species: species animal kind pet_type breed
age: age age_years years
owner: owner pet_owner owner_name contact
pupil: pupil student child name
subject: subject course class lesson
teacher: teacher instructor teacher_name
grade: grade mark result
home: home_team home team team_1
away: away_team away opponent team_2
home_score: home_score home_goals score_1
away_score: away_score away_goals score_2
stadium: stadium city venue location
dish: dish recipe meal food
minutes: minutes duration mins how_long
ingredient: ingredient main_ingredient needs
servings: servings serves portions people
applicant: applicant candidate name applicant_name
position: position job role job_title profession
company: company employer firm organisation
start: start start_date begins from_date
experience: experience years years_of_experience
courier: courier carrier delivered_by shipping_company
recipient: recipient addressee receiver name
parcel: parcel parcel_number tracking_number tracking package_id
street: street address street_address
day: day weekday day_of_week on
renter: renter customer name driver
vehicle: vehicle vehicle_type rented_item
days: days duration number_of_days rental_days
bill: invoice invoice_number invoice_id number
supplier: supplier vendor company from_company
total: total amount sum amount_due
due: due due_date deadline pay_by
client: client customer billed_to debtor
temperature: temperature temp degrees celsius
weather: weather conditions forecast
wind: wind wind_speed wind_kmh
patient: patient patient_name name
doctor: doctor physician doctor_name
reason: reason complaint reason_for_visit concern
rooms: rooms number_of_rooms room_count
rent: rent monthly_rent price rent_eur
agent: agent contact agent_name landlord
size: size area square_metres size_sqm
brand: car car_model model
km: km mileage kilometres odometer
seller: seller owner sold_by name
topic: topic subject about theme
room: room room_number place location meeting_room
organiser: organiser host organizer chair
thing: item object lost_item article
finder: finder found_by finder_name
loser: owner lost_by owner_name
place: place location where found_in
borrower: borrower reader member name
due_back: due return_by due_date return_date
museum: museum venue gallery place
art: artwork painting title work
guests: guests people party_size number_of_people
guest: guest guest_name name booked_by
hotel: hotel hotel_name accommodation
nights: nights length_of_stay stay
room_no: room room_number room_no
show: show event title performance
seat: seat seat_number place
buyer: buyer customer name bought_by
donor: donor giver name donor_name
cause: cause charity organisation recipient
member: member name member_name
club: club organisation society
tier: tier plan membership_type level
fee: fee price cost charge
plate: plate licence_plate registration car
minutes_late: delay minutes_late delay_minutes
thing_fixed: item object device repaired_item
work: repair job problem work_needed
customer: customer client name customer_name buyer
quantity: quantity count number amount_ordered qty units
products: product item article ordered_item goods
order_no: order order_number order_id id
product: product item article goods
reviewer: reviewer name author customer written_by
stamp: timestamp time logged_at
level: level severity log_level
service: service component source module
fault: message error text event
sender: sender from name author
task: task todo action what_to_do
deadline: deadline due day by
phone: phone telephone phone_number contact_number
caller: caller name from person
restaurant: restaurant place restaurant_name venue
month: month in_month
published: year published publication_year first_published
released: year release_year released year_released
departs: time departure departure_time leaves_at
line: line route service
delay_reason: reason cause delay_reason
hobby: course class subject title
places_left: places free_places spots seats_left
crime: crime offence incident case_type
officer: officer police_officer handled_by
case_no: case case_number reference file_number
crop: crop product harvest plant
farmer: farmer grower name
kilos: kilos weight kg weight_kg
gift: gift present item
giver: giver from given_by
taker: recipient to receiver for_whom
occasion: occasion event celebration
reading: reading value meter_reading consumption
meter: meter meter_number meter_id
subscriber: subscriber customer account_holder name
old_price: old_price before price_before
new_price: new_price after price_now
percent: percent discount discount_percent
name: name full_name person guest_name
email: email mail email_address
table_no: table table_number
speaker: speaker lecturer presenter
language: language spoken_language
votes: votes vote_count number_of_votes
candidate: candidate name politician
bank_from: sender payer from_person paid_by
bank_to: payee recipient to_person beneficiary
account: account account_number account_id
salary: salary pay wage income
department: department team division
distance: distance km distance_km kilometres
runner: runner athlete name
colour: colour color
playtime: start starts_at start_time time
"""
ALIASES = dict(line.split(": ", 1) for line in _ALIASES.strip().splitlines())
ALIASES |= extraction_everyday_more.ALIASES

_TEXTS = """
# helpdesk: device=gadget room_name=spot reporter=who problem=trouble
[hi|hello], the {device} in the {room_name} has a {problem}. [Thanks|Cheers|Best], {reporter}
the {device} in the {room_name} [is acting up|stopped working|needs a look], {problem}. {reporter}
{reporter} [says|tells us|reports] that the {device} in the {room_name} has a {problem}
[could|can] someone [come to|look in at] the {room_name}? The {device} has a {problem}
{reporter} here, [we have|there is] a {problem} on the {device} in the {room_name}
{problem} on the {device}, {room_name}, [reported by|seen by|please inform] {reporter}
[sorry to bother you|me again], my {device} [shows|has] a {problem}. [It is|You find it] in the \
{room_name}. {reporter}
New ticket\\nFrom: {reporter}\\nDevice: {device}\\nWhere: {room_name}\\nIssue: {problem}
[since this morning|since yesterday|again], {problem} with the {device} [in the|up in the] \
{room_name}
I'm {reporter} and I can't [work|print|go on]: the {device} [has|got] a {problem}
[ask|call|speak to] {reporter} about the {device} in the {room_name}[, it has a {problem}|]
[nobody|no one] can use the {device} in the {room_name} because of a {problem}
{room_name}: {device}, {problem}[, told by {reporter}|]
# claim: policy=policyno claimant=who incident=damage amount=money date=date
{claimant} [claims|asks for|wants] {amount} euros for {incident} under policy {policy}
my name is {claimant}, policy {policy}. I [want|would like] to report {incident} on {date}
[I am writing about|this is about] {incident} on {date}. My policy is {policy}. {claimant}
on {date} {claimant} [reported|told us about] {incident}[, damage {amount} euros|]
policy {policy} [covers|pays for] {incident}, {claimant} [gets|receives] {amount} euros
the [repair|damage] after {incident} [came to|cost] {amount} [euros|dollars], policy {policy}
[please pay|we paid] {amount} euros to {claimant} for {incident}
claim for policy {policy}: {incident}, {date}, {amount} EUR
{claimant}\\nPolicy no. {policy}\\nWhat happened: {incident}\\nAmount: {amount}
we [turned down|accepted] the claim of {claimant} for {incident} [on|from] {date}
[phone|call|get back to] {claimant}: {incident}, policy {policy}
[there was|we had] {incident} on {date}, and I [need|expect] {amount} euros. Policy {policy}
{amount} euros for {incident}, says {claimant}, who has policy {policy}
# receipt: item=goods price=money store=shopname
I [got|bought|grabbed] [some |]{item} at {store} for {price} euros
{item} €{price}
{store}\\n{item}  {price}\\nThank you for your visit
[just|only] ${price} for {item} [at|from] {store}[, not bad|]
[paid|spent] {price} on {item} [today|this morning|at lunch]
they [charge|want|ask] {price} euros for {item} at {store}
{item} was {price} euros [at {store}|on offer|more than last week]
the receipt [says|shows] {item}, {price} euros
[can you pick up|please get|don't forget the] {item} at {store}? It's about {price} euros
[one|a pack of] {item}, that [makes|will be] {price} euros[ please|]
{price} for {item}? {store} [is too expensive|has gone mad]
I went to {store}, found {item} and paid {price} [in cash|by card]
{store} [has|sells] {item} for {price} [euros|dollars] [this week|now|until Sunday]
Item: {item}, price: {price}, store: {store}
# train: origin=town destination=town platform=small departs=time train=trainno
the {departs} [train|service] from {origin} to {destination} [leaves|goes] from platform \
{platform}
train {train} to {destination}[ will depart|departs| leaves] at {departs} from platform {platform}
[attention please|passengers], train {train} from {origin} [now arrives on|is at] platform \
{platform}
{train} {origin} - {destination} {departs} platform {platform}
[I'm|we are] on the train from {origin} to {destination}, [it left|we left] at {departs}
[take|catch] the {departs} to {destination}, [platform|it goes from platform] {platform}
[my train|mum's train] to {destination} [goes|is] at {departs}[, could you drive me|]
to {destination}: {departs}, platform {platform}[, change in {origin}|]
leaving {origin} at {departs}, [we reach|I get to|getting to] {destination} [in the evening|by \
noon]
platform {platform} [is for|has] train {train} to {destination}
[can I|I want to|I'd like to] travel from {origin} to {destination} [at|around] {departs}
due to works train {train} [starts in|starts from] {origin} [on|at] platform {platform}
in {origin} take train {train} [towards|to] {destination} at {departs}
# departure: flight_no=flightno destination=town gate=gatecode time=time traveller=who
flight {flight_no} to {destination} [is boarding|boards] at gate {gate}
{traveller} [flies|is flying] to {destination} [at|today at] {time}, flight {flight_no}
gate {gate} [closes|opens] at {time} for flight {flight_no}
[ladies and gentlemen|last call], flight {flight_no} to {destination}, please go to gate {gate}
[the plane|our plane|my plane] to {destination} takes off at {time} from gate {gate}
{flight_no} {destination} {time} {gate}
would {traveller} please come to gate {gate}[, flight {flight_no} is leaving|]
Passenger: {traveller}\\nFlight: {flight_no}\\nTo: {destination}\\nBoarding: {time}
[pick up|collect|meet] {traveller} [at the airport|] - the flight {flight_no} lands at {time}
bad news, {flight_no} to {destination} is [late|delayed], [now|new time] {time}
{traveller} [has missed|missed] the {time} flight to {destination}
I fly to {destination} with {flight_no}, gate {gate} at {time}
[boarding pass|ticket] of {traveller}, {flight_no}, gate {gate}
# novel: book=book.0 author=book.1 published=book.2
{author} wrote {book}[ in {published}|]
{book} by {author} [was first published|came out|appeared] in {published}
have you [read|finished|started] {book} by {author}[ yet|]?
[I just finished|I am reading|my daughter loves|I love] {book} by {author}
{book} ({author}, {published})
{book}, written by {author}, [is|was] [a classic|my favourite|on the list]
[our book club reads|next month we read|the class reads] {book}, a [novel|book] by {author}
the author of {book} is {author}
in {published}, {author} published {book}
{author} [is best known for|became famous with] {book}, from {published}
[the library has|we have] {book} by {author}[, published {published}|] [on the shelf|again|]
[in case you need a present|for your holiday]: {book} by {author}
{published} saw [the first edition of|the birth of] {book} by {author}
"{book}" [is a novel by|is by|was written by] {author}
Title: {book}\\nBy: {author}\\nFirst published: {published}
# movie: film=film.0 director=film.1 released=film.2 stars=stars
{film} is the work of {director}[, made in {released}|]
{film} is a {released} [film|movie] [directed by|by] {director}
[we watched|last night I saw|let's watch] {film} by {director}[, I give it {stars} stars|]
{film} ({released}), directed by {director}
{stars} stars for {film}[, what a film|, well done {director}|]
[the cinema|the film club] shows {film}, [a film by|the {released} film of] {director}
in {released} {director} [surprised everyone with|gave us] {film}
{film} [came out|was released|hit the cinemas] in {released}
did you know that {film} was [made|directed] by {director}?
my [favourite|best-loved] film is {film}, [from {released}|by {director}]
[I rate|rated] {film} {stars} out of 5, {director} [is a genius|can do better]
Film: {film}\\nDirector: {director}\\nYear: {released}
"{film}" by {director} [won prizes|is on tonight|made me cry]
# song: song=song.0 artist=song.1 listener=who
[play|put on|queue] {song} by {artist}
{listener} [wants to hear|asked for|likes|sings] {song} by {artist}
{artist} - {song}
[now playing|up next|that was]: {song} by {artist}
{song} [is by|was sung by|was a hit for] {artist}
[I have|there is] {song} by {artist} stuck in my head
{artist} [sang|performed|opened the show with] {song}[ last night|]
"{song}" by {artist}[, for {listener}|, requested by {listener}]
[add|send] {song} by {artist} to the playlist of {listener}
my [wedding song|first record|alarm] was {song}, {artist} [of course|]
{listener} [danced|cried] to {song}, the [old|great] song by {artist}
Track: {song}\\nArtist: {artist}
[nothing beats|I can't stop playing] {song} by {artist}
# trip: visitor=who country=country year=lately city=town
{visitor} [visited|went to|travelled to|toured] {country} in {year}
in {year}[,|] {visitor} [visited|saw|went to] {country}
{visitor} spent [the summer of|a month of|most of] {year} in {country}
[my aunt|our friend|my colleague] {visitor} [flew|moved] to {country} in {year}
{country} in {year}, that was [the trip|the holiday] of {visitor}
[remember {year}|back in {year}]? {visitor} [crossed|saw] {country} by [train|bike|car]
{visitor} has [never been to|been to] {country}, [but plans to go|last time] in {year}
the [photos|postcards] of {visitor} from {country} are from {year}
{visitor} [landed|arrived] in {city}, {country}, in {year}
{city} [was|is] the [first|last] stop of {visitor} in {country}
after {year} {visitor} never [left|returned to] {country}
Traveller: {visitor}\\nCountry: {country}\\nYear: {year}
[with|after] a week in {city}, {visitor} knew {country} [well|by heart]
# petcare: pet=petname species=animal2 age=small owner=who
{pet} the {species} [belongs to|lives with] {owner}
{owner} [has|adopted|got|bought] a {age}-year-old {species} [called|named] {pet}
my {species} {pet} is {age} years old[ and won't eat|]. {owner}
[our|the] {age} year old {species}, {pet}, [ran off|is ill|has to see the vet]
{owner} [called|came in]: {pet}, a {species}, [age {age}|is limping]
the {species} of {owner} is [called|named] {pet}
[lost|missing]: {species}, answers to {pet}, {age} years old, [please call|owner] {owner}
[meet|say hello to] {pet}, the {species} [of {owner}|that {owner} found]
{pet}, {species}, {age}, {owner}
for {age} years {owner} has had a {species} [with the name|by the name of] {pet}
[hello doctor|good morning], it's {owner}, my {species} {pet} has [a cough|a fever]
we are giving away a {species} named {pet}, {age} years old, [friendly|house-trained]
Patient: {pet} ({species}, {age} years)\\nOwner: {owner}
# school: pupil=who subject=lesson teacher=titledteacher grade=gradeletter
{pupil} [got|has|received] a {grade} in {subject}
{teacher} teaches {subject} [to|and likes] {pupil}
[in|for] {subject} {teacher} gave {pupil} a {grade}
[dear parents|good news], {pupil} has a {grade} in {subject}. Regards, {teacher}
{pupil} [was absent from|missed|forgot the homework for] {subject} with {teacher}
{subject} with {teacher} [is the favourite lesson of|bores|pleases] {pupil}
a {grade} in {subject}! {pupil} is [so proud|happy]
{teacher} [thinks|says|believes] {pupil} needs help with {subject}
report card: {pupil}, {subject}, {grade}
my son {pupil} [failed|passed] {subject}, his teacher is {teacher}
{pupil} [improved|went up] to a {grade} in {subject}[, says {teacher}|]
Student: {pupil}\\nSubject: {subject}\\nTeacher: {teacher}\\nGrade: {grade}
[call|ring] {teacher} about {pupil} and the [marks|test] in {subject}
# result: home=club away=club home_score=score away_score=score stadium=town
{home} {home_score} - {away_score} {away}
{home} [beat|played|met] {away} {home_score} to {away_score}[ in {stadium}|]
[the scoreboard said|it stands at]: {home} {home_score}, {away} {away_score}
it [ended|finished] {home_score}:{away_score} between {home} and {away}
{home} against {away} [in {stadium} |]ended {home_score}-{away_score}
{home} scored {home_score} and {away} [only |]{away_score}
[what a match|unbelievable]! {home} {home_score} {away} {away_score}
{home} [hosted|welcomed] {away} in {stadium}[, it ended {home_score}-{away_score}|]
[at half time|after 90 minutes] {home} had {home_score} goals, {away} had {away_score}
in {stadium} {home} [drew with|lost to|beat] {away}
{home} vs {away}: {home_score}-{away_score}
Home: {home}\\nAway: {away}\\nScore: {home_score}-{away_score}
we saw {home} play {away} in {stadium}, [score|it was] {home_score}-{away_score}
# recipe: dish=dish minutes=mins ingredient=ingredient servings=few
{dish} [takes|needs] {minutes} minutes and [feeds|serves] {servings}
[for|to make] the {dish} you [need|want] {ingredient}
[bake|cook|leave] the {dish} for {minutes} minutes[, then add {ingredient}|]
{dish} for {servings}, [ready|done] in {minutes} minutes
[don't forget|you also need] the {ingredient} for the {dish}
my grandmother's {dish} [is made with|gets its taste from] {ingredient}
{servings} [people|guests] are coming, so I make {dish}, {minutes} minutes [and done|in the oven]
Recipe: {dish}\\nTime: {minutes} min\\nServes: {servings}
add {ingredient} to the {dish} and [wait|stir for] {minutes} minutes
[tonight|for dinner] we have {dish} with [lots of|some] {ingredient}
the {dish} [was|is] on the table after {minutes} minutes, enough for {servings} [people|persons]
no {dish} without {ingredient}, [says my mother|as my uncle says]
{minutes} minutes for a {dish}? With {ingredient} [yes|it works]
# application: applicant=full position=trade company=firm start=date experience=few
{applicant} [applied|is applying] for the job of {position} at {company}
I [would like|want] to work as a {position} at {company}. I have {experience} years of \
experience. {applicant}
[dear {company} team|dear sir or madam], I apply as {position}. I can start on {start}. \
{applicant}
{applicant}, a {position} with {experience} years of experience, [wrote to|called] {company}
{company} invited {applicant} [to an interview|for a talk] for {position}
the [new|next] {position} at {company} is {applicant}[, starting {start}|]
{position} wanted: {company}, from {start}[, {experience} years of experience|]
[we hired|meet] {applicant}, who [starts|joins us] as {position} on {start}
Candidate: {applicant}\\nPosition: {position}\\nExperience: {experience} years
after {experience} years as a {position}, {applicant} [moves to|joins] {company}
[call|email|invite] {applicant} about the {position} job[, free from {start}|]
{company} [has no job|has a job] for {applicant} [as a|, the] {position}
on {start} {applicant} begins [work|a new job] as {position} at {company}
# delivery: courier=courier recipient=who parcel=parcelno street=address day=day
{courier} [will bring|brings|delivers] parcel {parcel} to {recipient} on {day}
your parcel {parcel} [comes|arrives] on {day} with {courier}
{recipient}, {street}: parcel {parcel}[, {day}|]
[please leave|leave|drop] parcel {parcel} at {street}[ on {day}|]
[I was not at home|nobody was in], {courier} took parcel {parcel} [back|away]. {recipient}
{courier} [lost|found] the parcel {parcel} for {recipient}
[the driver of|a man from] {courier} stood at {street} on {day} with a parcel for {recipient}
hello {courier}, where is my parcel {parcel}? [Regards|Thanks], {recipient}, {street}
[track|follow] {parcel} with {courier}[: due {day}|]
{recipient} moved to {street}, please [send|redirect] parcel {parcel} there
on {day} [a box|something] for {recipient} came to {street} [by|with] {courier}
To: {recipient}\\n{street}\\nParcel: {parcel}\\nCarrier: {courier}
we handed {parcel} to the neighbour of {recipient} [on {day}|at {street}]
# rental: renter=who vehicle=vehicle days=few price=money city=town
{renter} [rented|hired|booked] a {vehicle} for {days} days[ in {city}|]
a {vehicle} in {city} for {days} days [costs|is] {price} euros
[I need|I'd like|do you have] a {vehicle} for {days} days in {city}[?|, please.] {renter}
{price} euros a day for a {vehicle}? [Fine|OK], {renter} [takes it|will take it]
{renter} brought the {vehicle} back after {days} days
[hi|hello], this is {renter}, I rented a {vehicle} in {city} [and it has a flat tyre|last week]
[prepare|get] the {vehicle} for {renter}, {days} days
rental: {vehicle}, {days} days, {price} EUR, {renter}
for {price} euros {renter} [drove|had] a {vehicle} around {city}
the {vehicle} [stands|waits] in {city} for {renter}
[pick up|collect] the {vehicle} in {city}, it's paid: {price} euros [by|from] {renter}
Customer: {renter}\\nVehicle: {vehicle}\\nDays: {days}
[was|is] {price} euros for {days} days with a {vehicle} [a good price|too much]?
# bill: bill=invoiceno supplier=firm total=money due=date client=who
{supplier} [sent|billed] {client} {total} euros, invoice {bill}
invoice {bill} [from {supplier} |]over {total} euros is [due|payable] on {due}
[dear|hello] {client}, please pay {total} euros by {due}. {supplier}
[did we pay|have we paid] {supplier}? {total} euros, invoice {bill}
{client} owes {supplier} {total} euros[ since {due}|]
[reminder|second reminder]: {bill}, {total} EUR, {due}
{supplier} is still waiting for {total} euros from {client}
the invoice {bill} for {client} [was paid|came in] on {due}
{total} euros [for|to] {supplier} [by|before] {due}, invoice {bill}
Invoice {bill}\\nBill to: {client}\\nTotal: {total}\\nDue: {due}
I [checked|found] invoice {bill}: {total} euros, not [more|less]. {client}
{client} [refuses to pay|paid] {supplier} the {total} euros
[book|file] invoice {bill} from {supplier} under {due}
# forecast: city=town temperature=degrees weather=weather day=day wind=count
{city} [will have|gets|expects] {weather} on {day}, {temperature} degrees
{weather} in {city} [on {day}|today], {temperature} degrees
on {day} it will be {temperature} degrees in {city} [with|and] {weather}
{temperature} degrees and {weather} in {city}[, wind {wind} km/h|]
[bring a coat|take an umbrella|good to know]: {weather} in {city} on {day}
[the forecast for|weather for] {city}: {weather}, {temperature} degrees
wind of {wind} km/h [blows|hits] {city} on {day}
[here in|greetings from] {city}, we have {weather} and {temperature} degrees
how is {city}? [Here they say|I read] {weather} for {day}
{day}: {city}, {weather}, {temperature} C
after {weather} on {day}, {city} cools to {temperature} degrees
City: {city}\\nDay: {day}\\nWeather: {weather}\\nTemp: {temperature}
it is {temperature} degrees in {city} [right now|this morning], wind {wind} km/h
# clinic: patient=who doctor=doctor2 day=day time=time reason=ailment
{patient} [has an appointment with|is seeing|sees] {doctor} on {day} at {time}
[hello|good morning], this is {patient}, [I need|can I get] an appointment for a {reason}
{doctor} can see {patient} [at {time} on {day}|on {day}] about the {reason}
[remind|tell|call] {patient} that {doctor} is [ready at|free at] {time} on {day}
{patient} has a {reason} and [comes|will come] at {time}
{day} {time}: {patient}, {reason}
[sorry|I'm afraid], {doctor} is away on {day}, {patient} [must wait|has to come later]
because of a {reason} {patient} went to {doctor} on {day}
your appointment with {doctor} is on {day} at {time}. [See you then|Please be on time]
{patient} [cancelled|moved] the {day} appointment, the {reason} is [better|gone]
Patient: {patient}\\nDoctor: {doctor}\\nTime: {time}\\nReason: {reason}
at {time} {doctor} [looks at|treats] the {reason} of {patient}
I have a {reason}, can {doctor} see me on {day}? {patient}
# property: street=address rooms=few rent=thousands agent=who size=hundreds
{rooms} rooms at {street} for {rent} euros a month
[nice flat|bright flat|house] at {street}, {size} square metres, {rooms} rooms
the flat at {street} has {size} square metres and [costs|goes for] {rent} euros
[ask|call|contact] {agent} about the {rooms}-room flat at {street}
{agent} [shows|will show] us the [flat|house] at {street} [tomorrow|on the weekend]
[I saw|we looked at] a flat with {rooms} rooms, {rent} euros, {size} square metres
{rent} euros for {size} square metres? [Too much|Not bad], {agent}
to rent: {street}, {rooms} rooms, {rent} EUR
{agent} wants {rent} euros for [the place at|the flat at] {street}
Address: {street}\\nRooms: {rooms}\\nRent: {rent}\\nAgent: {agent}
we moved to {street}, {rooms} rooms and {size} square metres[, what a dream|]
the rent at {street} [went up|rises] to {rent} euros[, writes {agent}|]
{size} square metres, {rooms} rooms, [key with|viewing with] {agent}
# carsale: brand=brand year=lately price=thousands km=thousands seller=who
{seller} [sells|is selling] a {brand} from {year} for {price} euros
{brand}, {year}, {km} km, {price} euros
[for sale|must go]: {brand} from {year}, {km} kilometres, [call|ask for] {seller}
I [bought|found|test-drove] a {year} {brand} with {km} kilometres
my {brand} [has done|has] {km} km and [costs|is yours for] {price} euros. {seller}
{price} euros for a {brand} from {year}? {seller} [must be joking|wants too much]
the {brand} of {seller} is from {year}
[is the {brand}|is your {brand}] still there? I [offer|can pay] {price} euros
after {km} kilometres {seller} [sells|is selling] the {brand}
Car: {brand}\\nYear: {year}\\nMileage: {km}\\nPrice: {price}
[built in|first registered in] {year}, this {brand} has {km} kilometres on the clock
{seller} wants {price} euros for the {year} {brand}
[the garage|a dealer] gave {seller} {price} euros for the {brand}
# meeting: topic=topic day=day time=time room=roomname organiser=who
{organiser} [set up|planned|called] a meeting about {topic} on {day} at {time}
[let's talk|we talk|can we talk] about {topic} on {day} at {time}[, {room}|]
the {topic} meeting [is|starts] at {time} in the {room}
[hi all|hello team], {topic} is moved to {day}, {time}. {organiser}
meet in the {room} on {day}, {organiser} [presents|explains] the {topic}
{day}, {time}, {room}: {topic}
[reminder|don't forget]: {topic} with {organiser}, {day} at {time}
{organiser} cannot [make it|come] on {day}, so {topic} is [off|postponed]
the {room} is booked at {time} for {topic}[ by {organiser}|]
[see you|we meet] at {time} in the {room}, {organiser} [brings cake|will be late]
Subject: {topic}\\nWhen: {day} {time}\\nWhere: {room}\\nOrganiser: {organiser}
on {day} {organiser} wants to [discuss|go through] the {topic}
is {time} on {day} fine [for you|for all]? It's about the {topic}. [Best|Thanks], {organiser}
# lostthing: thing=belonging loser=who finder=who place=where day=day
{loser} [lost|left|forgot] a {thing} [in|at] the {place} on {day}
{finder} found a {thing} at the {place}
[has anyone seen|did you find] a {thing}? I [lost|left] it at the {place} on {day}. {loser}
[found|lost]: {thing}, {place}, {day}
the {thing} [of|that belongs to] {loser} was handed in by {finder}
[hello|good news] {loser}, your {thing} is [here|safe], {finder} found it
a {thing} was [left|found] in the {place} on {day}
{finder} [brought|gave] us a {thing} from the {place}
[call|tell|write to] {loser}, the {thing} [has turned up|was at the {place}]
on {day} {loser} came [to ask about|looking for] a {thing}
Item: {thing}\\nFound by: {finder}\\nPlace: {place}
[does the {thing}|who says the {thing}] from the {place} belong to {loser}?
in the {place} somebody [dropped|lost] a {thing}, [I have it|ask] {finder}
# loan: book=book.0 author=book.1 borrower=who due_back=date
{borrower} [borrowed|has|took out] {book} until {due_back}
{book} by {author} is [due|to be returned] on {due_back}
[dear|hello] {borrower}, please return {book} by {due_back}
[reminder|notice]: {book}, {author}, {borrower}
{due_back} is the last day for {book}[, {borrower}|]
I [still have|can't find] {book} by {author}, sorry. {borrower}
{borrower} [renewed|reserved] {book} by {author}
[can I keep|may I keep] {book} until {due_back}? [Thanks|Yours], {borrower}
the copy of {book} [is with|went to] {borrower}
Reader: {borrower}\\nBook: {book}\\nAuthor: {author}\\nDue: {due_back}
by {due_back} {borrower} [has to|must] bring back {book}
{author}, {book}: [on loan to|reserved for] {borrower}
[ask|remind] {borrower} to return {book} by {author}
# museumvisit: museum=museum art=art.0 painter=art.1 visitor=who
{visitor} saw {art} by {painter} [in|at] the {museum}
the {museum} [shows|has|lends] {art} by {painter}
{painter} painted {art}
[my favourite|the best thing in the {museum}] is {art} by {painter}
we [stood|queued] for an hour to see {art} at the {museum}. {visitor}
{visitor} [spent a day|works as a guide] at the {museum} [and loves|because of] {art}
"{art}" was [painted|made] by {painter}[, now at the {museum}|]
at the {museum}: {art}, {painter}
{art}, {painter}, {museum}
[don't miss|you must see] {art} at the {museum}[, says {visitor}|]
Museum: {museum}\\nWork: {art}\\nArtist: {painter}
[is {art}|are you sure {art} is] by {painter}? {visitor} [asked|wants to know]
{visitor} bought a poster of {art} by {painter} [in the shop of|outside] the {museum}
# checkin: guest=who hotel=stayname nights=few room_no=hundreds date=date
{guest} [checked in|arrived] at {hotel} for {nights} nights
{guest} [has|got|is in] room {room_no} at {hotel}
[hello|good evening], I have a booking for {nights} nights, [the name is|my name is] {guest}
[a room|one double room] for {nights} nights from {date}, please. {guest}
room {room_no} for {guest}, {nights} nights
{hotel} [welcomes|is expecting] {guest} on {date}
[dear|welcome] {guest}, your room is {room_no}. {hotel}
on {date} {guest} [checks out of|leaves] room {room_no}
we stayed {nights} nights at {hotel}, [room {room_no} was loud|lovely place]
{guest} [extended|shortened] the stay at {hotel} to {nights} nights
Guest: {guest}\\nHotel: {hotel}\\nRoom: {room_no}\\nNights: {nights}
[please wake|call|bring breakfast to] {guest} in room {room_no}
{hotel}, {date}, {nights} nights, {guest}
[the key to|the minibar of] room {room_no} at {hotel} [is gone|is empty], says {guest}
# showticket: show=play seat=seatcode buyer=who price=money playtime=time day=day
{buyer} [bought|has|booked] a ticket for {show}, seat {seat}
[tickets|one ticket] for {show} on {day} for {price} euros
{show}, {day}, {playtime}, seat {seat}
we are going to see {show} on {day}[, it begins at {playtime}|]
[I have|there is] a spare ticket for {show} on {day}, {price} euros. {buyer}
seat {seat} for {show} [costs|is] {price} euros
the doors for {show} open at {playtime} [on {day}|sharp]
{buyer} paid {price} euros [to see|for] {show}
[can I change|is it possible to change] my seat {seat} for {show}? [Regards|Thanks], {buyer}
on {day} {buyer} [goes to|invites me to] {show} at {playtime}
Show: {show}\\nSeat: {seat}\\nPrice: {price}\\nName: {buyer}
{price} euros for seat {seat}? {show} [is worth it|must be good]
[admit one|ticket]: {show}, seat {seat}, {buyer}
# gives: donor=who amount=money cause=cause month=month
{donor} [donated|gave|transferred] {amount} euros to the {cause}
the {cause} [received|got] {amount} euros from {donor}[ in {month}|]
[thank you|dear] {donor}, your {amount} euros help the {cause}
in {month}[,|] {donor} [collected|raised] {amount} euros for the {cause}
[I'd like to give|please take] {amount} euros for the {cause}. {donor}
{amount} euros from {donor} [went|go] to the {cause}
donation: {cause}, {amount}, {donor}
{donor} [ran a marathon|sold cakes] and made ${amount} for the {cause}
every {month} {donor} [supports|helps] the {cause} with {amount} euros
Donor: {donor}\\nAmount: {amount}\\nTo: {cause}
[put|write] {donor} down for {amount} euros, {cause}
the {cause} [wrote to thank|thanks] {donor} for {amount} dollars
since {month} the {cause} has had {amount} euros more, [thanks to|all from] {donor}
# joins: member=who club=club2 tier=tier fee=money start=date
{member} [joined|signed up for|is a member of] the {club}[ on {start}|]
{member} has a {tier} membership at the {club} for {fee} euros
the {club} [charges|asks] {fee} euros for the {tier} membership
[please cancel|I want to end] my {tier} membership of the {club}. {member}
[hi|hello] {club}, I would like the {tier} membership from {start}. {member}
{member}, {tier}, {fee} euros a month
from {start} {member} pays {fee} euros to the {club}
[welcome to the {club}|great to have you], {member}! Your {tier} membership starts on {start}
{tier} membership: {fee} euros, {club}
{member} [changed|moved] to {tier} on {start}
Member: {member}\\nClub: {club}\\nType: {tier}\\nFee: {fee}
the {tier} plan of the {club} [is too dear for|suits] {member}
[add|put] {member} on the list of the {club}, {tier}, {fee} euros
# parking: plate=plateno street=address amount=money time=time date=date
the car {plate} [was parked|stood] at {street} at {time}
parking fine of {amount} euros for {plate}[, {street}|]
{plate} must pay {amount} euros for [standing|stopping] at {street}
[I got|my wife got] a ticket at {street}: {amount} euros
on {date} at {time} a car with the plate {plate} [blocked|stood in front of] {street}
[whose car is|please move] {plate}? It blocks {street}
parking: {plate}, {street}, {time}
ticket for {plate}, {date} {time}, fine {amount} EUR
{amount} euros for parking at {street}? [I object|Never again]
at {time} the [warden|police] wrote down {plate} at {street}
Plate: {plate}\\nAddress: {street}\\nFine: {amount}\\nDate: {date}
[tow|check|look for] {plate} at {street}
you can park at {street} [from {time} on|until {time}], it costs {amount} euros
# repair: thing_fixed=fixable work=repairjob customer=who price=money day=day
{customer} brought in a {thing_fixed}, {work}, [ready|done] on {day}
the {thing_fixed} of {customer} [has|needs] a {work}
[fixing|repair of] the {thing_fixed} ({work}) costs {price} euros
[can you fix|do you repair] my {thing_fixed}? It's a {work}. {customer}
{customer} paid {price} euros for the {thing_fixed}
{work}, {thing_fixed}, {price} euros, {customer}
the {thing_fixed} will be ready on {day}[, that makes {price} euros|]
[call|tell|text] {customer}: the {thing_fixed} is ready, {price} euros
on {day} I [pick up|get back] my {thing_fixed}, [just a|it was only a] {work}
{price} euros for a {work}! {customer} [is angry|will not pay]
Customer: {customer}\\nObject: {thing_fixed}\\nWork: {work}\\nPrice: {price}
we [repaired|looked at] the {thing_fixed} of {customer} on {day}
a {work} on a {thing_fixed} [takes us until|can wait until] {day}
# mailorder: quantity=few products=plural customer=who city=town order_no=idnumber
[I would like|I'd like|please send me|I need] {quantity} {products}. [Thanks|Best wishes], \
{customer}
{customer} [is waiting for|is asking for|has paid for] {quantity} {products}
{quantity} {products} [go|are going] to {customer} in {city}
order {order_no}: {quantity} {products} for {customer}
my name is {customer}, order {order_no}, I [got|am missing] {quantity} {products}
[can I get|could you send|may I order] {quantity} {products} to {city}?
{city} [needs|is short of] {quantity} {products}, order {order_no}
[add|put] {quantity} {products} [to|on] order {order_no}
{customer} from {city} [sent back|returned] {quantity} {products}
this is {customer} from {city}, [I'll take|put me down for] {quantity} {products}
[ship|pack|send] {quantity} {products} [to|for] {customer}
Order {order_no}\\n{quantity} x {products}\\n{customer}, {city}
[where are|what about] the {quantity} {products} of order {order_no}? {customer}
{quantity} of your {products} to {customer}, {city}[, and quickly|]
in order {order_no} {customer} asked for {quantity} {products}
# review: product=wares stars=stars reviewer=who price=money store=shopname
{stars} stars for the {product}. [Love it|It does the job|Not for me]. {reviewer}
{reviewer} gave the {product} {stars} out of 5
the {product} [broke after a week|is great], {stars} stars
[bought|ordered] the {product} for {price} euros, {stars} stars[, says {reviewer}|]
the {product} from {store} [gets|deserves] {stars} stars
{stars}/5 {product} - {reviewer}
{reviewer} [writes|says]: the {product} is worth {price} euros
[would buy again|never again]! {product}, {stars} stars, {reviewer}
for {price} euros the {product} [at|from] {store} is [fair|good]
[my rating|verdict] for the {product}: {stars} of 5
Product: {product}\\nRating: {stars}\\nBy: {reviewer}
I paid {price} euros for this {product}, [only|still] {stars} stars
{reviewer} sent the {product} back to {store}, rating {stars} [at most|for the service]
# logs: stamp=stamp level=loglevel service=service fault=fault
{stamp} {level} {service}: {fault}
{level} {stamp} {service} {fault}
{stamp} {service} {level} - {fault}
at {stamp} {service} [wrote|logged] {level}: {fault}
({service}) {stamp}: {fault}
{level}: {fault} in {service}
{service} [reported|says] "{fault}" at {stamp}
[since|from] {stamp} the {service} log is full of "{fault}"
time={stamp} level={level} service={service} msg="{fault}"
{stamp}; {service}; {level}; {fault}
the {service} service [failed|stopped] at {stamp} with "{fault}"
[look at|check] {service}, there is a {level} from {stamp}: {fault}
{level} from {service} [again|once more]: {fault}
# todo: task=chore taker=first deadline=day sender=first
{taker}, can you {task} [by|before|on] {deadline}? {sender}
{sender}: {taker}, please {task}
[don't forget to|remember to] {task} on {deadline}[, {taker}|]
{taker} [has to|must|promised to] {task} by {deadline}
I need someone to {task} on {deadline}. [Love|Kisses|Thanks], {sender}
{sender} [asked|told|reminded] {taker} to {task}
[todo|task]: {task}, {taker}, {deadline}
who can {task}? {taker} [said yes|will do it on {deadline}]
on {deadline} {taker} will {task}
{task} - {taker} - {deadline}
please {task}, {taker}, I [won't be back before|am away until] {deadline}
To do: {task}\\nWho: {taker}\\nUntil: {deadline}
{sender} wants {taker} to {task} [before|until] {deadline}
# voicenote: caller=who phone=phone topic=topic time=time
{caller} called about the {topic}, [call back on|number] {phone}
[hi|hello], it's {caller}, please call me [on|at] {phone} about the {topic}
[missed call|you missed a call] from {caller} at {time}
[message|voicemail] from {caller}, {phone}: the {topic}
at {time} {caller} [rang|phoned] because of the {topic}
[call|ring|phone] {caller} on {phone} [before {time}|today]
{phone} is the [new|right] number of {caller}
[it's me|this is] {caller}, I [ring|speak to you] at {time} about the {topic}
{caller} [will be on|can be reached under] {phone} after {time}
[you can reach|try] {caller} at {phone}
Caller: {caller}\\nNumber: {phone}\\nAbout: {topic}
[ask for|if you want|speak to] {caller} when you dial {phone}
my number is {phone}, [I'm|name] {caller}, it's about the {topic}
# eatout: restaurant=restaurant guest=who guests=few time=time day=day table_no=small
[a table|I'd like a table] for {guests} at {time} on {day}, {guest}
{guest} [booked|reserved] a table for {guests} at {restaurant}
{restaurant}, {day} {time}, {guests} people
[we are|there will be] {guests} of us at {restaurant} on {day}
table {table_no} for {guest} at {time}
{restaurant} confirms: {guests} people, {day}, {time}
[can we come|is there room] at {time} on {day}? We are {guests}. {guest}
let's eat at {restaurant} [on {day}|at {time}], {guest} [pays|is coming too]
{guest} sits at table {table_no} [of|in] {restaurant}
[dear|hello] {restaurant}, please [cancel|move] our table for {guests} on {day}. {guest}
Name: {guest}\\nGuests: {guests}\\nTime: {time}\\nTable: {table_no}
at {restaurant} we got table {table_no} and [waited|sat] until {time}
{guests} for dinner at {time}, the name is {guest}
# delay: line=line minutes_late=mins delay_reason=delayreason destination=town
{line} is {minutes_late} minutes late because of {delay_reason}
because of {delay_reason}, {line} to {destination} [stops early|is delayed]
{line} to {destination} is delayed by {minutes_late} minutes
[I'm on|we sit in] {line} to {destination} and it's {minutes_late} minutes late
delay on {line}: {minutes_late} min, {delay_reason}
[expect|there are] delays of {minutes_late} minutes on {line}[, reason: {delay_reason}|]
sorry, I'll be {minutes_late} minutes late, {line} [is stuck|stands still] because of \
{delay_reason}
due to {delay_reason} all trips of {line} to {destination} [end|start] later
{destination}: {line} +{minutes_late} min
{delay_reason} [holds up|stops] {line}, [wait|plan] {minutes_late} minutes more
Line: {line}\\nDelay: {minutes_late} min\\nCause: {delay_reason}
why is {line} {minutes_late} minutes behind? They say {delay_reason}
{minutes_late} minutes late again! {line} [to|towards] {destination}
# evening: hobby=hobby teacher=titledteacher fee=money day=day places_left=few
{teacher} [teaches|gives] {hobby} on {day}
the {hobby} course costs {fee} euros [and has|with] {places_left} free places
[is there|do you have] a {hobby} class on {day}?
{day}: {hobby}, {fee} euros, taught by {teacher}
only {places_left} places [left|free] in {hobby}
[I signed up for|we try] {hobby} with {teacher}
on {day} {teacher} starts a course in {hobby}
{fee} euros for {hobby}, [paid to|see] {teacher}
{teacher} is ill, no {hobby} on {day}
[learn|enjoy] {hobby} with {teacher}! {places_left} places left
Course: {hobby}\\nTeacher: {teacher}\\nFee: {fee}\\nDay: {day}
{places_left} people can still join {hobby} on {day}
I [want to cancel|paid {fee} euros for] the {hobby} class of {teacher}
# police: crime=crime officer=full street=address case_no=ref date=date
{officer} [investigates|took the call about] a case of {crime} at {street}
case {case_no}: {crime}, {street}
on {date} there was a report of {crime} at {street}
[I want to report|we had a case of] {crime} at {street} on {date}
[contact|call|ask for] {officer} about case {case_no}
{crime} at {street}, [officer|handled by] {officer}
{officer} closed the case {case_no} on {date}
the number of the {crime} case is {case_no}, [it is with|speak to] {officer}
{date}, {street}: {crime}
[witnesses|neighbours] of the {crime} at {street} should call {officer}
Case: {case_no}\\nOffence: {crime}\\nOfficer: {officer}
[any news on|what about] {case_no}, the {crime} at {street}?
{street} was the scene of {crime}, writes {officer} in {case_no}
# farm: farmer=who crop=crop kilos=hundreds city=town price=money
{farmer} [sold|picked|harvested] {kilos} kg of {crop}
{kilos} kilos of {crop} [went|go] to {city}
the market in {city} pays {price} euros for a [box|sack] of {crop}
[I have|we offer] {kilos} kg of {crop} for {price} euros. {farmer}
{farmer} grows {crop} near {city}
[a good year|what a harvest]: {kilos} kg of {crop} for {farmer}
{crop}: {kilos} kg, {price} EUR
{price} euros is what {farmer} [gets|wants] for the {crop}
[who buys|can you use] {kilos} kilos of {crop}? Ask {farmer} in {city}
{farmer} drove {kilos} kg of {crop} to {city}
Farmer: {farmer}\\nProduct: {crop}\\nWeight: {kilos} kg
from {city}: {crop}, {price} euros, grown by {farmer}
in {city} {farmer} sells {crop}
# present: gift=gift giver=who taker=who occasion=occasion
{giver} gave {taker} {gift} for the {occasion}
{taker} got {gift} from {giver}
[for the|at the] {occasion} {taker} received {gift}
{gift} for {taker}, from {giver}
[what did {giver} give|did {giver} give] {taker} for the {occasion}? It was {gift}
{giver} [picked|hid|chose] {gift} for {taker}
dear {giver}, thank you for {gift}! Love, {taker}
{taker} [loves|was happy about] {gift} from {giver}
from {giver} to {taker}: {gift}
the {occasion} of {taker} is near, {giver} [thinks of|has found] {gift}
Gift: {gift}\\nFrom: {giver}\\nTo: {taker}
{giver} has no idea for the {occasion}, maybe {gift}
the {occasion} was lovely, {taker} [unpacked|found] {gift}
# meterread: subscriber=who meter=ref reading=idnumber street=address date=date
meter {meter} [shows|reads|stands at] {reading}
[hello|dear team], my meter {meter} is at {reading}. {subscriber}
{subscriber} [sent|reported] {reading} for meter {meter}
on {date} the meter at {street} showed {reading}
{street}, meter {meter}: {reading} kWh
{reading} is the [new|latest] value at {street}
[please note|here is] the reading from {date}: {reading}. {subscriber}
{subscriber} lives at {street}, meter {meter}
the value {reading} of {date} [seems too high|is wrong], says {subscriber}
[read|check] meter {meter} at {street}
Customer: {subscriber}\\nMeter: {meter}\\nReading: {reading}
we [came|will come] on {date} to read meter {meter} of {subscriber}
{meter} - {reading} - {date}
# sale: product=wares old_price=money new_price=money percent=percent store=shopname
the {product} is now {new_price} euros [instead of|down from] {old_price}
{percent} percent off the {product} at {store}
{store} [cut|lowered] the price of the {product} from {old_price} to {new_price} euros
was {old_price}, now {new_price}: {product}
[save|get] {percent}% on the {product}[ at {store}|]
[hurry|last days]: {product} for {new_price} euros at {store}
I paid {old_price} for the {product}, [now|today] it's {new_price} at {store}
{product} -{percent}% {store}
at {store} the {product} [dropped|fell] to {new_price} euros
with the {percent} percent discount the {product} [comes to|costs] {new_price} euros
Product: {product}\\nBefore: {old_price}\\nNow: {new_price}
[look|seen this?] {store} sells the {product} with {percent} percent off
the {product} went up from {old_price} to {new_price} euros
# contact: name=full email=email phone=phone city=town
{name} moved to {city}, the new number is {phone}
[you can write to|email|send it to] {name} at {email}
{name}, {phone}, {email}
[my name is|I'm|this is] {name} and my number is {phone}
I am {name} from {city}[, mail me at {email}|, call me on {phone}]
[call|text|ring] {name} in {city} on {phone}
{email} [is the address of|belongs to] {name}
[best|regards|yours], {name}, {city}, {phone}
for [questions|tickets] ask {name}, {email}
the [person|one] to ask in {city} is {name}
Name: {name}\\nCity: {city}\\nEmail: {email}\\nPhone: {phone}
[save|note] the number of {name}: {phone}
in {city} [look for|meet] {name}, phone {phone}
# talk: speaker=full topic=topic language=language city=town guests=count
{speaker} [speaks|gives a talk] about the {topic} in {city}
the talk [of|by] {speaker} is in {language}
{guests} people [came|listened] to {speaker} in {city}
in {city} {speaker} [explains|presents] the {topic} in {language}
[join us for|come and hear] {speaker} on the {topic}
{speaker}: the {topic} ({language}, {city})
the {topic} was the subject of {speaker} before {guests} [guests|listeners]
{guests} seats for {speaker} in {city} [are sold|are gone]
[invite|introduce|thank] {speaker}, who talks about the {topic}
a talk in {language} about the {topic}, [by|with] {speaker}
Speaker: {speaker}\\nTopic: {topic}\\nCity: {city}\\nLanguage: {language}
does {speaker} speak {language}? The {guests} guests in {city} [do|hope so]
{city} welcomes {speaker}[ and {guests} guests|]
# election: candidate=full votes=idnumber city=town percent=percent year=lately
{candidate} won [the election|the vote] in {city} with {votes} votes
{candidate} [got|received] {percent} percent in {city}
in {year} {candidate} was [elected|voted] mayor of {city}
{votes} people voted for {candidate}
{city}: {candidate} {percent}%
with {percent} percent of the vote {candidate} [leads|came first] in {city}
the mayor of {city} since {year} is {candidate}
{city} [chose|voted for] {candidate} in {year}
[only|nearly] {votes} votes for {candidate} in {city}
after {year} {candidate} did not run in {city} again
Candidate: {candidate}\\nCity: {city}\\nVotes: {votes}
[congratulations|well done], {candidate}! {votes} votes, {percent} percent
{percent} percent, that is {votes} votes, [went to|were for] {candidate}
# banking: bank_from=who bank_to=who amount=money date=date account=policyno
{bank_from} [sent|transferred|paid] {amount} euros to {bank_to}
{bank_to} [received|got] {amount} euros from {bank_from} on {date}
{amount} euros [left|came into] account {account} on {date}
from {bank_from} to {bank_to}: {amount} EUR
[I sent|I have paid] you {amount} euros, {bank_to}. {bank_from}
on {date} {bank_from} paid {bank_to} {amount} euros
account {account}: {amount} euros, {date}
[please send|transfer] {amount} euros to {bank_to}, account {account}
{bank_from} owes {bank_to} {amount} euros
the {amount} euros from {bank_from} [never came|are here]
From: {bank_from}\\nTo: {bank_to}\\nAmount: {amount}
[did {bank_to} get|has {bank_to} seen] the {amount} euros? I sent them on {date}
{bank_to} thanks {bank_from} for the {amount} euros
# wage: name=full department=department salary=thousands position=trade start=date
{name} [works|is] in {department} and earns {salary} euros
{name} [starts|begins] as {position} on {start}
the {position} {name} earns {salary} a year
[welcome|say hello to] {name}, our new {position}[ from {start}|]
{department} has a new {position}: {name}
from {start} {name} gets {salary} euros
{salary} euros for a {position} [is fair|is not much]
{name}, {position}, {department}
[give|offer|pay] {name} {salary} euros
on {start} {name} moves to {department}
Name: {name}\\nTeam: {department}\\nSalary: {salary}
as a {position} in {department} [you earn|they pay] {salary} euros
{name} left {department} on {start}, [the last pay was|with] {salary} euros
# runs: runner=who distance=small minutes=mins city=town colour=adjcolour
{runner} ran {distance} km in {minutes} minutes
{runner} [won|finished] the race in {city} after {minutes} minutes
in {city} {runner} wore {colour} and ran {distance} km
{distance} km in {minutes} minutes, [not bad|well done], {runner}
[I did|we did] {distance} kilometres in {city} today, {minutes} minutes. {runner}
the runner in {colour} is {runner}
{runner}: {distance} km, {minutes} min
{minutes} minutes for {distance} km, [a record|my best] in {city}
{city}, {distance} km, {runner}
[who is|look at] the one in {colour}? That's {runner} from {city}
Runner: {runner}\\nDistance: {distance} km\\nTime: {minutes} min
[cheer for|watch] {runner}, the {colour} shirt, in {city}
after {distance} km {runner} [stopped|gave up] in {city}
"""

_HELLO = [
    "[hi|hello|hey|good morning|good evening|dear all|hi there|hello team|dear team|hi all]",
    "[dear sir or madam|good afternoon|hello everyone|hi folks|morning|to whom it may concern]",
]
_HELLO_NAMED = ["[hi|hello|dear|hey|good morning] {n}", "[hey|hi] {n}, [how are you?|quick one]"]
_BYE = [
    "[thanks|thank you|many thanks|thanks a lot|cheers|best wishes|kind regards|best regards]",
    "[bye|see you|talk soon|have a nice day|take care|thanks in advance|sorry for the trouble]",
    "[sent from my phone|please let me know|let me know if you need more|all the best]",
]
_ASIDE = """
[I hope you are well|hope you had a nice weekend|it's me again|just a quick note]
[sorry for the late reply|sorry to bother you|I'll be short|one more thing|as you know]
[we are in a hurry|no rush|it's not urgent|this is urgent|please hurry|take your time]
[it was raining all day|what a day|the traffic was awful|the sun is out|I am so tired]
[I will call later|I'll be back soon|we can talk tomorrow|please write back|I am out of office]
[please keep this for your records|please check|nothing else to add|that's all|no other news]
[my battery is low|I'm on my way|the coffee is cold|everybody says hello|the kids are fine]
[as always, we were happy with everything|we had no other trouble|I was a bit surprised]
[it took a while|it was easy|nobody minds|I'm glad|we were lucky|what can I say|you never know]
""".strip().splitlines()

_GREETED = re.compile(r"(?i)(hi|hello|hey|dear|good|welcome|greetings|attention)\b")
_THANKED = re.compile(r"(?i)thank|cheers|best|regards|yours|see you|love,|sorry")


TEXTS = extraction_texts.blocks(_TEXTS) | extraction_everyday_more.TEXTS


def _record(drawers: dict[str, str], rng: Random) -> dict[str, Value]:
    """A value for every field; columns of one list (`book.0`, `book.1`) come from one row."""
    rows: dict[str, tuple[str, ...]] = {}
    out: dict[str, Value] = {}
    for field, drawer in drawers.items():
        group, _, column = drawer.partition(".")
        if column:
            row = rows.setdefault(group, rng.choice(TOGETHER[group]))
            out[field] = int(row[2]) if column == "2" else row[int(column)]
        else:
            value = DRAW[drawer](rng)
            while value in out.values() and drawer not in ("score", "stars", "few"):
                value = DRAW[drawer](rng)
            out[field] = value
    return out


def shown(value: Value, drawer: str, rng: Random) -> str:
    """The value as the text has it: money mostly with two decimals."""
    if drawer == "money" and isinstance(value, float):
        return f"{value:.2f}" if rng.random() < 0.9 else str(value)
    return str(value)


def without_article(value: Value) -> Value:
    """A listed value without its article, which belongs to the sentence ("The" of titles stays)."""
    return re.sub(r"^(?:an?|the) ", "", value) if isinstance(value, str) else value


def _sentence(text: str, rng: Random) -> str:
    """A pattern of the aside or greeting kind, mostly with a capital."""
    out = expand(text, rng, {"n": rng.choice(FIRST)})
    return out[:1].upper() + out[1:] if rng.random() < 0.9 else out


def _joined(parts: list[str], rng: Random) -> str:
    """The sentences one after the other, each with a full stop if it has no mark."""
    out = ""
    for part in parts:
        if out:
            lines = "\n" in out + part
            out += "\n" if lines else rng.choice([" ", " ", " ", "\n"])
        ended = part.endswith((".", "!", "?", ",")) or "\n" in part
        out += part if ended else part + rng.choice("........!")
    return out


def stated(rng: Random) -> tuple[str, dict[str, Value]]:
    """A text, and the fields that it states with their values."""
    drawers, patterns = TEXTS[rng.choice(list(TEXTS))]
    record = _record(drawers, rng)
    slots = {field: shown(record[field], drawers[field], rng) for field in record}
    parts: list[str] = []
    found: list[str] = []
    for pattern in rng.sample(patterns, rng.choices([1, 2], [9, 1])[0]):
        chosen = expand(pattern.replace("\n", "\x00"), rng).replace("\x00", "\n")
        new = [field for field in SLOT.findall(chosen) if field not in found]
        if parts and not new:
            continue
        first = chosen[:1] not in ("{", '"') and rng.random() < 0.9
        text = chosen[:1].upper() + chosen[1:] if first else chosen
        said = SLOT.sub(lambda match: slots[match.group(1)], text)
        parts.append(articles(said))
        found += new
    form = "\n" in parts[0]
    while rng.random() < 0.22:
        parts.insert(rng.randint(0, len(parts)), _sentence(rng.choice(_ASIDE), rng))
    greeted = _GREETED.match(parts[0])
    if rng.random() < 0.22 and not greeted:
        nobody = not any(drawers[field] in PEOPLE for field in found)
        hello = rng.choice(_HELLO_NAMED if nobody and rng.random() < 0.5 else _HELLO)
        parts.insert(0, _sentence(hello, rng) + rng.choice([",", ",", "!"]))
    if rng.random() < 0.22 and not _THANKED.search(parts[-1]):
        parts.append(_sentence(rng.choice(_BYE), rng))
    text = _joined(parts, rng)
    if text.endswith(".") and (form or rng.random() < 0.25):
        text = text[:-1]
    return text, {field: without_article(record[field]) for field in found}


_MONTH = "(?:" + "|".join(words.MONTHS).lower() + ")"
_CODE = r"[a-z]{0,3} ?\d+(?: \d+)?"
_SHAPES = {
    **dict.fromkeys(["money", "degrees"], r"\d+(?: \d+)?"),
    **dict.fromkeys(["time", "stamp"], r"\d+(?: \d+)+(?: pm)?"),
    **dict.fromkeys(["policyno", "invoiceno", "parcelno", "ref", "trainno", "flightno"], _CODE),
    **dict.fromkeys(["gatecode", "seatcode"], r"(?:[a-z]\d+|\d+[a-z])"),
    "plateno": r"[a-z]+ \d+ [a-z]+",
    "address": r"\d+ \w+ \w+",
    "phone": r"\d+(?: \d+){0,2}",
    "email": r"\w+(?: \w+){1,3} (?:com|org|net|example|test)",
    "date": rf"(?:\d+ \d+ \d+|\d+ {_MONTH}(?: \d+)?|{_MONTH} \d+)",
    **extraction_everyday_more.SHAPES,
}


def _one_of(found: list[str]) -> str:
    return "(?:" + "|".join(sorted({normalise(value) for value in found})) + ")"


@cache
def _values_of(drawer: str) -> str:
    """The listed values of a drawer, in normalised text."""
    group, _, column = drawer.partition(".")
    if column:
        return _one_of([row[int(column)] for row in TOGETHER[group]])
    if drawer in PEOPLE:
        return r"(?:dr |doctor |mr |mrs |ms |professor )?" + _one_of(FIRST + LAST) + r"(?: \w+)?"
    return _one_of(TOWNS if drawer == "town" else _LISTS[drawer])


def regex_of(drawer: str, pattern: str) -> str:
    """What a value of this drawer looks like in normalised text (see `grammar.normalise`).

    Where the pattern has hardly a word of its own, listed values must be among those listed:
    otherwise any three words would be a song and its singer.
    """
    if drawer in INTEGERS or drawer.endswith(".2"):
        return r"\d+"
    if drawer in _SHAPES:
        return _SHAPES[drawer]
    if "." in drawer or drawer in _LISTS or drawer in PEOPLE or drawer == "town":
        needed = SLOT.sub(" ", re.sub(r"\[[^\]]*\|\]", " ", pattern))
        loose = r"\w+(?: \w+)?" if drawer in PEOPLE or drawer == "town" else r"\w+(?: \w+){0,5}"
        return _values_of(drawer) if len(normalise(needed).split()) < 2 else loose
    return extraction_texts.regex_of(drawer)
