/** Texts to try, with questions; the last question of each has no answer in its text. */

export const SAMPLES = [
  {
    title: "A letter",
    text: `Dear Ms Okafor,

Thank you for your order. The oak table will be delivered on Thursday, 14 May, between 8 and 11 in the morning. Two \
drivers will carry it up to your flat on the third floor. Please pay the remaining 240 euros by card. The drivers \
cannot take cash.

If the day does not suit you, call Mr Brandt on 0555 0142 before Monday. We keep the table for two weeks without charge.

Yours sincerely,
Hanna Lind
Lind and Daughter, Furniture`,
    questions: ["When will the table be delivered?", "Who can I call to change the day?", "How heavy is the table?"],
  },
  {
    title: "House rules",
    text: `LAUNDRY ROOM

The room is open from 7 a.m. to 9 p.m. It is closed on Sundays.

Write your name on the list by the door. You can have a machine for two hours.

A wash costs 2 euros and the dryer costs 1.50 euros. Mr Halonen in flat 3 sells the tokens.

Clean the filter of the dryer after every use.

Clothes that are left behind are kept in the blue basket for one week. After that they are given away.`,
    questions: ["How long can I have a machine?", "When is the room closed?", "Who repairs the machines?"],
  },
  {
    title: "A chat",
    text: `Mia, 10:02: Who brings what on Saturday?
Jonas, 10:04: I bring the grill and the charcoal.
Priya, 10:05: Salad and bread from me :)
Mia, 10:09: Great. We meet at the boathouse at 1 pm. If it rains, we go to my aunt's garage.
Tom, 10:15: I come later, my train arrives at 2:40.
Priya, 10:16: I can pick you up from the station.
Tom, 10:17: Perfect, thanks! Then I bring the drinks.`,
    questions: ["Where do they meet?", "When does Tom's train arrive?", "Who brings the cake?"],
  },
];
