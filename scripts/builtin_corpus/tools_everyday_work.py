"""The everyday tools of files, office, shops, support and machines, read by `tools_everyday.py`."""

# ruff: noqa: E501  (one request on a line)

TEXT = r"""
% files # I am cleaning up.|It is for my boss.|I am on the server.|I have little time.|My disk is a mess.|I work on the docs.
# read_document|read_file|open_document|get_file_content|load_document # [Read|Open|Return] [a document|the content of a file|a file] # path:path:path|file|file_path|filename|document
> [read|open|show me] [the file |]{path}
> tell me what is in {path}
what does {path} say
what is written in {path}
my notes are stored in {path}. Open them
I would like to see the text of {path}
+ the content of {path}
{path}, what is in it
is there anything interesting in {path}
somebody left {path} on the server. Have a look inside
read {path}
= {"lines": <number>} => The file has <number> lines.
= {"content": "<note>"} => It says: <note>.
= {"title": "<subject>", "pages": <few>} => The title is <subject>, and it has <few> pages.
# delete_file|remove_file|erase_file|file_delete # [Delete|Remove] a file # path:path:path|file|file_path|filename|target
> [delete|remove|erase] [the file |]{path}
> get rid of {path}
I do not need {path} any more
{path} is too old and can go
throw {path} away
nobody uses {path}, so wipe it
rm {path}
could {path} be removed
{path} should not exist any longer
the disk is full, and {path} is useless now. Wipe it
= {"deleted": "{path}"} => {path} is deleted.
= {"freed_mb": <number>} => {path} is deleted, which frees <number> MB.
# copy_file|duplicate_file|file_copy|cp # [Copy|Duplicate] a file # source:path:source|from|src|path target:path:destination|to|dest|target
> copy {source} to {target}
> make a copy of {source} at {target}
> duplicate {source} as {target}
I want {source} to exist as {target} too
before I edit {source}, keep a copy in {target}
cp {source} {target}
+ a copy of {source} in {target}
there should be a second {source} under {target}
could {source} be copied to {target}
to {target} goes a copy of {source}
= {"copied": true} => {source} is copied to {target}.
= {"bytes": <number>} => I copied <number> bytes to {target}.
# list_files|list_directory|list_folder|dir_list # [List|Show] the files [of|in] a [folder|directory] # folder:folder:path|folder|directory|dir
> list [the files|everything] in {folder}
> show me the folder {folder}
which files are in {folder}
what is stored in {folder}
how many files does {folder} have
I lost a file. It should be somewhere in {folder}
+ a list of all files in {folder}
ls {folder}
is the folder {folder} empty
look into the directory {folder}
= {"files": <number>} => There are <number> files in {folder}.
= {"files": ["<file>", "index.html"]} => The files are <file> and index.html.
# create_folder|make_directory|new_folder|mkdir # [Create|Make] a [new |][folder|directory] # folder:folder:path|folder|directory|name
> [create|make] [a|the] [new |][folder|directory] {folder}
> set up a directory at {folder}
I need somewhere to put my things: {folder}. Make that folder
mkdir {folder}
{folder} does not exist yet. Make it
+ a new folder {folder}
could there be a directory {folder}
new directory: {folder}
the folder {folder} is missing, so add it
I want to save things in a new folder called {folder}
= {"created": "{folder}"} => The folder {folder} is created.
# resize_image|scale_image|image_resize|change_image_size # [Resize|Scale] an image [to a width|] # image:image:image|path|file|image_path width:pixels:width|width_px|size|new_width
> [resize|scale] {image} to {width} pixels
> make {image} {width} pixels wide
> shrink {image} to a width of {width}
{image} is too big, {width} pixels are enough
I need {image} with a width of {width}
the web page wants {image} at {width} pixels
+ {image} at {width} pixels
{image} to {width} px
could {image} be {width} pixels wide
width {width} for {image}
= {"width": {width}, "height": <pixels>} => The image is {width} by <pixels> pixels now.
= {"saved": "<image>"} => The image is saved as <image>.
# convert_file|convert_document|change_format|file_convert # [Convert|Change] a file to another format # path:path:path|file|source|input format:=pdf/docx/html/csv/epub/png:format|to|output_format|target_format
> convert {path} to {format}
> turn {path} into {format}
> save {path} as {format}
I need {path} as {format}
my colleague can only open {format}. The file is {path}
could {path} become {format}
+ {path} in {format} format
{path} to {format}
make a {format} from {path}
a {format} version of {path}, that is what I need
= {"output": "<file>"} => The new file is <file>.
= {"format": "{format}", "pages": <few>} => The {format} has <few> pages.
# download_file|fetch_url|download|get_url # [Download|Fetch] [a file|a page] from [a URL|the web] # url:url:url|link|address|source
> [download|fetch] {url}
> get the page {url}
> save what is at {url}
what is behind the link {url}
somebody sent me {url}. Load it
the data is at {url}, and I need it here
+ a copy of {url}
download {url}
could {url} be loaded
here is a link: {url}. Fetch it
= {"status": 200, "size_kb": <number>} => The download has <number> KB.
= {"saved_as": "<file>"} => It is saved as <file>.
# start_backup|create_backup|backup_folder|run_backup # [Start|Create|Run] a backup [of a folder|] # folder:folder:path|folder|directory|source
> [back up|save a backup of] {folder}
> start a backup of {folder}
I am afraid to lose what is in {folder}
{folder} has no backup yet. Make one
before the update, {folder} must be backed up
backup {folder}
+ a backup of {folder}
could {folder} be backed up tonight
{folder} is important, keep it safe with a backup
run the backup for {folder}
= {"backup_id": <id>} => The backup has the number <id>.
= {"status": "started", "files": <number>} => The backup of <number> files is started.
% office # I am in a hurry.|I am in a meeting.|My boss is waiting.|It is a busy week.|I am at my desk.|We plan the next month.
# send_email|send_mail|email_send|compose_email # [Send|Write] an email [to a person|to an address|] # to:email:to|recipient|address|email subject:subject:subject|title|topic cc?:email:cc|copy_to
> [send an email|write|send a mail] to {to} with the subject {subject}
> email {to} about {subject}
> mail {to}, subject {subject}, and copy {cc}
{to} should get a mail about {subject}
I have to write to {to}. It is about {subject}
let {to} know about {subject}
+ an email to {to} about {subject}
email to {to}: {subject}
{subject} is the subject, {to} is the address. Send it
could {to} get an email titled {subject}
= {"status": "sent"} => The email to {to} is sent.
= {"message_id": <id>, "status": "queued"} => Message <id> is queued.
= {"delivered": true} => {to} has the email.
# send_message|send_text|text_contact|message_contact # [Send|Write] a [text |]message to [a person|a contact] # name:name:name|recipient|contact|to|person text:say:text|message|body|content
> [tell|text|message] {name}: {text}
> [send|write] {name} a message: {text}
> send {text} to {name}
> let {name} know: {text}
{name} should know this: {text}
write to {name} and say {text}
message to {name}: {text}
I promised to tell {name}: {text}
{name} is waiting for a message that says: {text}
can {name} get a text with the words {text}
text for {name}: {text}
= {"status": "sent"} => The message to {name} is sent.
= {"delivered_at": "<time>"} => {name} got it at <time>.
# add_calendar_event|create_event|schedule_event|add_event|new_event # [Add|Create|Schedule] [a calendar event|an event][ in the calendar|] # title:event:title|event|summary|name date:date:date|day|on|when time?:time:time|start|at|start_time
> [add|put] {title} [to|in] my calendar for {date}
> schedule {title} for {date} at {time}
> enter {title} on {date} at {time}
I have {title} on {date}
{date} at {time} is {title}. Note that in the calendar
on {date} there is {title}, add it
{title} takes place on {date}
+ {title} in my calendar, {date}, {time}
calendar: {title}, {date}
remember the date: {title} on {date} at {time}
the date is {date}, the time is {time}, and it is {title}. Add this event
block {date} for {title}
= {"event_id": <id>} => The event has the id <id>.
= {"event": "{title}", "status": "created"} => {title} is in your calendar.
= {"conflict": false} => {title} is added and there is no conflict.
# get_events|list_events|calendar_events|show_agenda|get_schedule # [Get|List|Show] the [calendar events|appointments] of a [day|date] # date:date:date|day|on
> show me [my calendar|my appointments|the agenda] for {date}
> check [my calendar|my schedule] for {date}
what do I have on {date}
what is on my schedule for {date}
am I free on {date}
is there anything on {date}
how busy am I on {date}
can I take a day off on {date}? See what is planned
+ my agenda for {date}
agenda {date}
what are my plans for {date}
= {"events": <few>} => You have <few> events on {date}.
= {"events": ["lunch", "yoga"]} => You have lunch and yoga on {date}.
= {"next": "<event>", "time": "<time>"} => Next is <event> at <time>.
# create_note|add_note|save_note|new_note|write_note # [Create|Save|Add] a note # text:note:text|content|note|body
> [make|save|write|create] a note: {text}
> [note|write down|jot down]: {text}
> note that {text}
keep this for me: {text}
for my notes: {text}
new note: {text}
+ a note that says {text}
put {text} in my notes
my notes should say {text}
could this be saved as a note: {text}
{text}. Save that as a note
= {"note_id": <id>} => The note is saved under <id>.
= {"saved": true} => The note is saved.
# create_task|add_task|add_todo|new_task # [Create|Add] a task [on the to-do list|] # title:note:title|task|text|name priority?:=low/medium/high:priority|importance|level
> [add|create] a task: {title}
> put {title} on my to-do list
> add {title} with {priority} priority
one more thing to do: {title}
my list of things to do is missing one: {title}
todo: {title}
+ a task with {priority} priority: {title}
task: {title}, priority {priority}
for my to-do list: {title}
another task for me: {title}
{title}, that is my next task. Priority {priority}
= {"task_id": <id>, "status": "open"} => Task <id> is open.
= {"open_tasks": <number>} => You have <number> open tasks.
# complete_task|finish_task|close_task|mark_done # [Complete|Finish] a task # task:id:task_id|task|id|number
> [mark|set] task {task} as done
> [complete|finish|tick off] task {task}
I have finished task {task}
task {task} is done
task {task} can be ticked off
done with {task}
I did number {task} on my list. Mark it
no more work on task {task}, it is complete
{task} is finished
could you close task {task}
= {"task": {task}, "status": "done"} => Task {task} is done.
= {"remaining": <few>} => There are <few> tasks left.
# find_contact|search_contact|lookup_contact|get_contact|find_person # [Find|Look up] a [contact|person] [in the address book|by name|] # name:full:name|person|contact|query
> [find|look up] [the contact |]{name} in the address book
> give me the [phone number|address|email] of {name}
how do I reach {name}
what is the number of {name}
who is {name}
I need to call {name} but have no number
+ the contact details of {name}
contact {name}
do we have an address for {name}
is {name} in my contacts
= {"name": "{name}", "phone": "<phone>"} => The phone number of {name} is <phone>.
= {"email": "<email>"} => The email of {name} is <email>.
= {"email": "<email>", "city": "<city>"} => {name} lives in <city> and has the email <email>.
# book_meeting_room|reserve_room|book_room|room_booking # [Book|Reserve] a meeting room # room:=Paris/Oak/Blue/A1/Jupiter/Garden:room|room_name|name date:date:date|day|on time:time:time|start|at
> [book|reserve] [the |]room {room} on {date} at {time}
> get us the {room} room at {time} on {date}
> book a room: {room}, {date}, {time}
we meet on {date} at {time} and need room {room}
is room {room} free on {date} at {time}? Then reserve it
+ the room {room} on {date} at {time}
room {room}, {date}, {time}
on {date} at {time} I want to use the {room} room
at {time} on {date} my team needs room {room}
the interview is in room {room}, {date}, {time}. Book that
= {"room": "{room}", "status": "booked"} => The room {room} is booked.
= {"booking_id": <id>} => The booking has the number <id>.
# request_leave|book_vacation|request_vacation|apply_leave # [Request|Book] [vacation|days off] # start:date:start|from|start_date|first_day days:few:days|num_days|duration|length
> [request|book] {days} days off from {start}
> apply for a vacation of {days} days that starts on {start}
I want to be away for {days} days from {start}
from {start} I need a break of {days} days
{days} days of vacation, the first one is {start}
+ {days} days off from {start}
vacation {start}, {days} days
my holiday starts on {start} and lasts {days} days
can I stay at home for {days} days from {start}
leave: {days} days, first day {start}
= {"request_id": <id>, "status": "pending"} => Request <id> is pending.
= {"days_left": <few>} => You have <few> days left.
# web_search|search_web|internet_search|search # [Search|Query] the [web|internet][ for a query|] # query:query:query|q|text|search_term
> search [the web |online |]for {query}
> look up {query} [online|on the internet]
> find pages about {query}
what does the internet say about {query}
I read something about {query}. Find more on the web
what can be found online on {query}
+ web pages on {query}
google {query}
search: {query}
could you see what is on the web about {query}
I know nothing about {query}, look it up
= {"results": <number>} => There are <number> results for {query}.
= {"title": "<book>", "url": "<url>"} => I found <book> at <url>.
% shop # I am a customer.|I bought something.|I have an account with you.|My last visit was fine.|This is about my purchase.|I am shopping.
# track_order|order_status|get_order_status|check_order|get_order # [Track|Check|Get] [an order|the status of an order] # order:id:order_id|order|order_number|id
> [track|check|find] [my |the |]order {order}
> look where my package is. The number is {order}
where is [my |]order {order}
my order has not come yet. The number is {order}
has order {order} been [sent|shipped|delivered]
I ordered last week and nothing came. It is order {order}
when will {order} get here
+ the status of order {order}
order {order}
any news on my parcel? I have the order id {order}
I am still waiting for number {order}
order number {order}, is it on the way
= {"order_id": {order}, "status": "<state>"} => Order {order} is <state>.
= {"status": "shipped", "arrival": "<date>"} => The order is shipped and arrives on <date>.
= {"location": "<city>"} => The order is in <city>.
= {"carrier": "<firm>", "status": "<state>"} => The order is <state> and comes with <firm>.
# cancel_order|order_cancel|stop_order|revoke_order # [Cancel|Stop] an order # order:id:order_id|order|order_number|id reason?:=too_late/too_expensive/wrong_item/not_needed:reason|why|comment
> [cancel|stop|call off] [my |the |]order {order}
> cancel order {order}, the reason is {reason}
I do not want order {order} any more
I changed my mind. Order {order} should not be sent
I ordered by mistake, so stop {order}
please no delivery of {order}, it is {reason}
+ to cancel order {order}
cancel {order}
could order {order} be stopped
number {order} is {reason}, so I cancel it
= {"order_id": {order}, "status": "cancelled"} => Order {order} is cancelled.
= {"refund": <price>} => You get <price> back.
# search_products|find_products|product_search|search_catalog # [Search|Find] products [in the shop|in the catalog|] # query:ware:query|product|search|keyword|item max_price?:amount:max_price|price_max|budget
> [search|look] for {query} [in the shop|]
> [find|show me] {query} under {max_price}
do you [sell|have] {query}
what {query} do you have
I am looking for {query}
my old one broke, and I need {query} for at most {max_price}
+ {query}
{query} up to {max_price}
is there any {query} in the shop
I have {max_price} to spend on {query}
= {"products": <number>} => I found <number> products for {query}.
= {"name": "<ware>", "price": <price>} => The <ware> costs <price>.
= {"items": ["<ware>", "gift card"]} => There is <ware> and gift card.
# check_stock|get_stock|stock_level|inventory_check # [Check|Get] [the stock|the number of items left] of [a product|an article] # article:code:sku|article|product_id|item_code
> check the stock of {article}
how many {article} are left
is {article} [in stock|available|sold out]
how many pieces of {article} do we have in the warehouse
I want to sell {article}. Are there any left
+ the stock of {article}
stock {article}
do we have to order {article} again
a customer asks for {article}. Is there one
article {article}, how many
= {"sku": "{article}", "stock": <number>} => There are <number> of {article} left.
= {"available": true} => {article} is available.
= {"stock": 0} => There are none of {article} left.
# add_to_cart|cart_add|put_in_cart|add_item # [Add|Put] a product [to|in] the [cart|basket] # product:ware:product|item|name|article quantity:few:quantity|count|amount|qty
> [add|put] {quantity} {product} [to|in] [my|the] [cart|basket]
> put {product} in my basket, {quantity} pieces
I take {quantity} of the {product}
I want to buy {product}, {quantity} times
+ {quantity} pieces of {product} in my cart
cart: {quantity} x {product}
{product} times {quantity} into the basket
my basket should have {quantity} {product}
could {quantity} {product} go in the cart
{quantity} {product}, then I am ready to pay
= {"cart_total": <price>} => Your cart is at <price>.
= {"items": <few>, "total": <price>} => There are <few> items for <price> in the cart.
# get_product_price|product_price|price_check|lookup_price # [Get|Look up] the price of [a product|an article] # product:ware:product|item|name|article
> [check|look up|tell me] the price of [the |]{product}
how much is the {product}
what does the {product} cost
what do you charge for {product}
I like the {product}. Is it expensive
+ the price of the {product}
price {product}
can I afford the {product}? I need to know the price
how many euros is the {product}
{product}, how much
= {"price": <price>, "currency": "<curcode>"} => The {product} costs <price> <curcode>.
= {"price": <price>, "discount": <few>} => It costs <price> with a discount of <few>.
# return_item|create_return|start_return|request_return # [Start|Request|Create] a return [of an order|] # order:id:order_id|order|order_number|id reason:=broken/too_small/too_big/wrong_colour/not_as_shown:reason|why|cause
> return order {order}, it is {reason}
> start a return for {order} because it is {reason}
> take back order {order}: {reason}
what I got with order {order} is {reason}. I want to send it back
order {order} came, but it is {reason}
I send back {order}. It is {reason}
+ to return order {order}, which is {reason}
return {order}, {reason}
it is {reason}, so I want to return it. The order is {order}
{reason}, that is why order {order} goes back
= {"return_id": <id>, "status": "<state>"} => Return <id> is <state>.
= {"label": "<url>"} => The label is at <url>.
# list_orders|get_orders|customer_orders|order_history # [List|Get] [all |]orders of a customer # customer:id:customer_id|customer|user_id|client status?:=open/shipped/paid/returned:status|state|filter
> list [all |the |]orders of customer {customer}
> show the {status} orders of customer {customer}
what has customer {customer} bought
which orders does client {customer} have
customer {customer} is on the phone. What did they order
+ all orders of client {customer}
orders of {customer}
the {status} orders for customer {customer}
how often did customer {customer} order
what are the {status} orders of {customer}
= {"customer_id": {customer}, "orders": <few>} => Customer {customer} has <few> orders.
= {"count": <few>, "total": <price>} => There are <few> orders for <price> in total.
# find_customer|search_customer|lookup_customer|get_customer # [Find|Look up|Search] a customer [by email|by mail address] # email:email:email|mail|address|email_address
> [find|look up] the customer with the email {email}
> search for {email} among our customers
who is {email}
is {email} a customer of ours
somebody wrote from {email}. Which customer is that
+ the customer record of {email}
customer {email}
I have an address, {email}, and need to know who it belongs to
{email}: do we know this client
does {email} have an account with us
= {"name": "<full>", "customer_id": <id>} => {email} belongs to <full>, customer <id>.
= {"name": "<full>", "city": "<city>"} => The customer is <full> from <city>.
= {"found": false} => There is no customer with {email}.
# cancel_subscription|end_subscription|stop_subscription|unsubscribe # [Cancel|End] [a|the] subscription [of a user|] # user:email:email|user|user_email|account
> [cancel|end|stop] the subscription of {user}
> unsubscribe {user}
{user} does not want to pay any more
I no longer need my subscription. My email is {user}
the customer {user} leaves us, so end the subscription
cancel subscription {user}
+ to cancel my subscription for {user}
could the plan of {user} be ended
no more renewals for {user}
my account is {user}, and I want to quit the subscription
= {"status": "cancelled", "ends": "<date>"} => The subscription is cancelled and ends on <date>.
= {"refund": <price>} => The refund is <price>.
# apply_coupon|use_coupon|redeem_code|apply_discount # [Apply|Redeem] a [coupon|discount code] # code:code:code|coupon|coupon_code|voucher
> [use|apply|redeem] the [coupon|code|voucher] {code}
I have a voucher: {code}
my friend gave me the coupon {code}
there is a discount code, {code}. Use it
+ to pay less with the code {code}
coupon {code}
the code on my card is {code}. Does it give a discount
does {code} make it cheaper
could {code} be used as a coupon
take {code} off the price
= {"discount": <percent>} => You save <percent> percent.
= {"valid": false} => The code {code} is not valid.
= {"new_total": <price>} => The new total is <price>.
% support # I work at the help desk.|It is urgent.|The users complain.|My shift just began.|The team is small today.|It is a bad day.
# create_ticket|open_ticket|new_ticket|report_issue|file_ticket # [Create|Open] a [support |]ticket # title:trouble:title|issue|problem|summary|subject priority?:=low/normal/high/urgent:priority|severity|level
> [open|create|file] a ticket: {title}
> report this problem: {title}
> create a {priority} ticket: {title}
we have a problem: {title}
I want to report something: {title}
somebody should look at this: {title}. It is {priority}
new ticket: {title}
+ a ticket with {priority} priority: {title}
{title}. Open a ticket
please tell support: {title}
nobody can work here: {title}. File a ticket, priority {priority}
= {"ticket_id": <id>, "status": "open"} => Ticket <id> is open.
= {"ticket": "<code>"} => The ticket is <code>.
# assign_ticket|give_ticket|ticket_assign|delegate_ticket # [Assign|Give] a ticket to [a person|an agent] # ticket:id:ticket_id|ticket|id|number person:name:assignee|person|agent|to|name
> [assign|give|hand] ticket {ticket} to {person}
> let {person} take ticket {ticket}
{person} should [work on|handle|take care of] ticket {ticket}
ticket {ticket} is for {person}
ticket {ticket} belongs on the desk of {person}
{person} knows about this, so give them {ticket}
assign {ticket}, {person}
+ {person} on ticket {ticket}
who has time? {person}, so ticket {ticket} goes there
could {person} look after ticket {ticket}
= {"ticket_id": {ticket}, "assignee": "{person}"} => Ticket {ticket} is with {person}.
= {"status": "assigned"} => Ticket {ticket} is assigned.
# close_ticket|resolve_ticket|ticket_close|end_ticket # [Close|Resolve] a ticket # ticket:id:ticket_id|ticket|id|number
> [close|resolve] ticket {ticket}
ticket {ticket} is solved
the customer is happy, so ticket {ticket} can be closed
ticket {ticket} is no longer a problem
we fixed {ticket}. Close it
close {ticket}
+ ticket {ticket} closed
could ticket {ticket} be closed
nothing more to do for ticket {ticket}
the answer was sent, {ticket} is over
= {"ticket_id": {ticket}, "status": "closed"} => Ticket {ticket} is closed.
= {"closed_at": "<time>"} => The ticket was closed at <time>.
# get_ticket|show_ticket|ticket_info|ticket_status # [Get|Show] [a ticket|the details of a ticket] # ticket:id:ticket_id|ticket|id|number
> [show|open|read] me ticket {ticket}
> look at ticket {ticket}
what is ticket {ticket} about
how far are we with ticket {ticket}
what is the state of ticket {ticket}
who works on ticket {ticket}
+ the details of ticket {ticket}
ticket {ticket}
is ticket {ticket} still open
a customer asks about ticket {ticket}. What do we know
= {"ticket_id": {ticket}, "status": "<state>"} => Ticket {ticket} is <state>.
= {"title": "<trouble>", "assignee": "<full>"} => It says <trouble>, and <full> works on it.
= {"priority": "high", "status": "<state>"} => The ticket is <state> with high priority.
# get_user|find_user|lookup_user|user_info|fetch_user # [Get|Fetch|Look up] a user [by id|by number] # user:id:user_id|user|id|uid
> [get|show|look up] [the |]user {user}
> tell me who user {user} is
who is user {user}
what is the name of user {user}
what do we know about user {user}
I see user {user} in the log. Who is that
+ the data of user {user}
user {user}
does the user with the id {user} exist
uid {user}, who is it
= {"user_id": {user}, "name": "<full>"} => User {user} is <full>.
= {"name": "<full>", "email": "<email>"} => The user is <full> with the email <email>.
= {"name": "<full>", "active": false} => <full> is not active.
# create_user|add_user|register_user|new_user # [Create|Add|Register] a [user|new user] # name:full:name|full_name|user|display_name email:email:email|mail|email_address role?:=admin/editor/viewer/guest:role|rights|type
> [create|add|register] [a|the] [new |]user {name} with the email {email}
> set up an account for {name}, {email}
> add {name} as {role}, email {email}
we have a new colleague, {name}. The email is {email}
{name} needs an account. The address is {email}
{name} starts today as {role}. Use {email} for the account
new user: {name}, {email}
+ an account for {name} under {email}
with the address {email}, register {name}
{email} belongs to {name}, who wants to sign up
= {"user_id": <id>} => {name} has the user id <id>.
= {"status": "created", "user": "{name}"} => The user {name} is created.
# reset_password|password_reset|new_password|send_password_reset # [Reset|Renew] the password of a user # user:email:email|user|account|login
> reset the password of {user}
> send a new password to {user}
{user} forgot the password
{user} cannot log in any more, because the password is lost
I forgot my password. My address is {user}
+ a new password for {user}
password reset {user}
could {user} get a new password
the password of {user} was stolen. Change it
I do not remember my password, I am {user}
= {"sent_to": "{user}"} => The new password is sent to {user}.
= {"status": "reset"} => The password of {user} is reset.
# search_docs|search_knowledge_base|find_article|kb_search # [Search|Query] the [documentation|knowledge base|handbook] # query:query:query|q|question|topic
> search the [docs|handbook|knowledge base] for {query}
> look in the documentation for {query}
what does the handbook say about {query}
is there an article about {query} in our docs
where in the docs do I read about {query}
+ the help page on {query}
docs: {query}
a user asks about {query}. What do our articles say
do the docs have something on {query}
I need our own text on {query}
= {"article": "<subject>"} => The article is <subject>.
= {"matches": <few>} => There are <few> articles about {query}.
# call_phone|phone_call|make_call|dial_number # [Call|Dial] a [phone|telephone] number # number:phone:number|phone|phone_number|to
> [call|dial|ring] {number}
> phone {number}
the customer wants a call back at {number}
connect me with {number}
I have to talk to somebody at {number}
+ to call {number}
ring up {number}
here is the number: {number}. Call it
could we call {number}
they wait for us on the line at {number}
= {"call": "started"} => The call to {number} is started.
= {"status": "busy"} => {number} is busy.
% machines # I am on call.|Something is wrong.|The alarm went off.|We are live.|I just pushed my code.|The release is near.
# restart_service|service_restart|reboot_service|restart # [Restart|Reboot] a service # service:service:service|name|service_name|unit
> restart [the service |]{service}
> bring {service} down and up again
{service} hangs
{service} does not answer any more. It needs a restart
after the change {service} has to be restarted
{service} needs a fresh start
restart {service}
could {service} be restarted
+ a restart of {service}
I changed the config of {service}, so start it again
= {"service": "{service}", "status": "running"} => {service} is running.
= {"restarted": true, "seconds": <few>} => {service} was restarted in <few> seconds.
# get_service_status|service_status|check_service|health_check # [Get|Check] the [status|health] of a service # service:service:service|name|service_name|unit
> check [whether|if] {service} is up
> look at the health of {service}
is {service} [up|running|healthy]
how is {service} doing
users say that {service} is down. Is it
+ the status of {service}
status {service}
does {service} work
is anything wrong with {service}
has {service} crashed
= {"service": "{service}", "status": "<state>"} => {service} is <state>.
= {"uptime_hours": <number>} => {service} has been up for <number> hours.
= {"healthy": true, "load": <percent>} => {service} is healthy with a load of <percent>.
# deploy_app|deploy|deploy_application|release_app|ship_app # [Deploy|Release] an app [to an environment|] # app:app:app|application|name|project environment:=staging/production/test:environment|env|target|stage version?:version:version|tag|release
> deploy [the app |]{app} to {environment}
> [ship|release|roll out] {app} on {environment}
> deploy version {version} of {app} to {environment}
{app} {version} should go to {environment}
the tests are green, so {app} can go to {environment}
I want to see {app} on {environment}
deploy {app} {environment}
put {version} of {app} on {environment}
+ {app} on {environment}
on {environment}, {app} is too old. Bring it to {version}
could {app} go live on {environment}
= {"deployment_id": <id>, "status": "<state>"} => Deployment <id> is <state>.
= {"url": "<url>"} => {app} is at <url>.
= {"version": "<version>", "environment": "{environment}"} => Version <version> is on {environment}.
# scale_service|set_replicas|scale|scale_deployment # [Scale|Set the number of copies of] a service # service:service:service|name|deployment|target replicas:few:replicas|count|instances|size
> scale {service} to {replicas} [replicas|instances|copies]
> run {replicas} copies of {service}
{service} is slow, so run it with {replicas} instances
there should be {replicas} instances of {service}
we expect many users. {service} needs {replicas} replicas
+ {replicas} replicas of {service}
scale {service} {replicas}
{service}: {replicas} instances
could {service} have {replicas} copies
with {replicas} instances, {service} would be faster
= {"service": "{service}", "replicas": {replicas}} => {service} has {replicas} replicas.
= {"status": "scaling"} => {service} is scaling.
# run_query|execute_sql|sql_query|query_database|execute_query # [Run|Execute] [a SQL query|an SQL statement|a query on a database] # sql:sql:query|sql|statement|command database?:database:database|db|db_name
> [run|execute] {sql}
> run {sql} on {database}
> run this query: {sql}
what is the result of {sql}
what does the database {database} say to this: {sql}
I have a statement for {database}: {sql}
sql: {sql}
use {database} and run {sql}
ask the database: {sql}
how many rows do I get from {sql}
+ the rows of {sql}
= {"rows": <number>} => The query gives <number> rows.
= {"rows": <number>, "ms": <few>} => The query gives <number> rows in <few> ms.
# get_logs|show_logs|fetch_logs|read_logs|tail_logs # [Get|Show|Fetch] the [last |]log lines of a service # service:service:service|name|source|unit lines?:amount:lines|count|num_lines|tail
> [show|fetch|get] me the logs of {service}
> show the last {lines} log lines of {service}
what does the log of {service} say
what did {service} write to its log
I want to know why {service} failed. The last {lines} lines of the log will do
+ the logs of {service}
logs {service}
last {lines} lines from {service}
are there errors in the log of {service}
{service} logs, {lines} lines
= {"errors": <few>} => The log has <few> errors.
= {"last_line": "<trouble>"} => The last line says <trouble>.
= {"lines": <number>, "warnings": <few>} => There are <few> warnings in <number> lines.
# ping_host|ping|check_host|host_reachable # [Ping|Check] a host # host:host:host|hostname|server|target|address
> ping {host}
> see if {host} answers
can you reach {host}
is {host} reachable
does the machine {host} still answer
I cannot connect to {host}. Is it me
ping {host}
+ a ping to {host}
is the server {host} online
how fast does {host} answer
= {"reachable": true, "ms": <few>} => {host} answers in <few> ms.
= {"reachable": false} => {host} does not answer.
# get_disk_usage|disk_usage|check_disk|free_space # [Get|Check] the [disk usage|free space] of a [host|server] # host:host:host|server|hostname|machine
> check the disk [space|usage] on {host}
how full is the disk of {host}
is there any space left on {host}
I want to copy a big file to {host}. Does it fit
how much room is left on {host}
+ the disk usage of {host}
disk {host}
is the disk on {host} nearly full
df on {host}
{host} complains about its disk. How full is it
= {"used_percent": <percent>} => The disk is <percent> percent full.
= {"free_gb": <number>} => There are <number> GB free on {host}.
# merge_branch|git_merge|merge|merge_into # [Merge] [a branch into another|one git branch into another] # source:branch:source|branch|from|head target:branch:target|into|to|base
> merge {source} into {target}
> bring {source} into {target}
the work on {source} is done, so it can go into {target}
my branch {source} should be merged into {target}
{target} needs the changes from {source}
merge {source} to {target}
+ {source} merged into {target}
into {target}, merge {source}
could {source} be merged into {target}
the review of {source} is done. Merge it into {target}
= {"merged": true, "commits": <few>} => <few> commits are merged into {target}.
= {"conflicts": <few>} => There are <few> conflicts.
# run_tests|test_suite|execute_tests|start_tests # [Run|Start] the tests of [an app|a project] # app:app:project|app|suite|name branch?:branch:branch|ref|git_ref
> run the tests of {app}
> test {app} on the branch {branch}
do the tests of {app} pass
is {app} still green
are the tests of {app} fine on {branch}
I changed something in {app}. Do the tests still pass
+ a test run of {app}
tests {app}
tests for {app}, branch {branch}
has my commit on {branch} broken the tests of {app}
= {"passed": <number>, "failed": <few>} => <number> tests passed and <few> failed.
= {"passed": <number>, "failed": 0} => All <number> tests passed.
# block_ip|ban_address|firewall_block|deny_ip # [Block|Ban] an address [in the firewall|] # address:ip:ip|address|ip_address|source
> [block|ban] [the address |]{address}
> deny everything from {address}
somebody attacks us from {address}
{address} must not get in any more
we see a thousand logins from {address}. Stop that
block {address}
+ {address} blocked
lock out {address}
could the firewall stop {address}
there is spam from {address}, keep it away
= {"blocked": "{address}"} => {address} is blocked.
= {"rule_id": <id>} => {address} is blocked by rule <id>.
# set_config|update_setting|set_variable|change_setting # [Set|Change] a [setting|configuration variable] of a service # service:service:service|name|target|app key:=timeout/cache/port/workers/retries:key|setting|variable|option value:amount:value|new_value|to
> set {key} of {service} to {value}
> change the {key} setting of {service} to {value}
> in {service}, set {key} to {value}
{service} should use {key} {value}
{value} is a better {key} for {service}
the {key} in {service} is wrong, it must be {value}
{service}: {key} = {value}
+ {key} at {value} for {service}
could {service} run with {key} {value}
let {service} have {value} as {key}
= {"key": "{key}", "value": {value}} => The {key} of {service} is {value}.
= {"restart_needed": true} => The {key} is set, and {service} needs a restart.
"""
