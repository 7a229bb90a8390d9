/** Texts to try, with questions; the last question of each has no answer in its text. */

export const SAMPLES = [
  {
    title: "Apollo 11",
    text:
      "Apollo 11 was launched on July 16, 1969, and landed on the Moon four days later. Neil Armstrong and Buzz Aldrin " +
      "walked on its surface while Michael Collins stayed in orbit around it. They returned to Earth on July 24.",
    questions: ["Who stayed in orbit?", "When did it return?", "How much did the rocket cost?"],
  },
  {
    title: "Coffee",
    text:
      "Coffee plants are native to the highlands of Ethiopia. By the 15th century, people in Yemen roasted the seeds and " +
      "brewed them much as we do today. The drink came to Venice in 1570, and the first coffee house of London opened in " +
      "1652. Brazil has grown more coffee than any other country for over 150 years. The two main species are arabica, " +
      "which tastes milder, and robusta, which holds about twice as much caffeine.",
    questions: ["Where are coffee plants native?", "When did coffee come to Venice?", "Who invented instant coffee?"],
  },
  {
    title: "Lighthouse",
    text:
      "The Pharos of Alexandria was a lighthouse on the coast of Egypt. It was built between about 280 and 247 BC, in the " +
      "reign of Ptolemy II, and stood some 100 metres tall. For many centuries it was among the tallest buildings in the " +
      "world. Three earthquakes between 956 and 1323 damaged it badly. In 1480 the Sultan of Egypt, Qaitbay, built a fort " +
      "on its site and used some of the fallen stone.",
    questions: ["How tall was the Pharos?", "What damaged the lighthouse?", "Who kept the light burning at night?"],
  },
];
