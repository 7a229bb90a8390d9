// Opens bundles with transformers.js, offline, and prints what each computes: see tests/support/open_elsewhere.py, which starts this.

import { basename, dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { AutoModelForQuestionAnswering, AutoTokenizer, Tensor, env, pipeline } from '@huggingface/transformers';

const OPTIONS = { subfolder: '', dtype: 'fp32' }; // model.onnx of the folder itself, whatever its precision

env.allowRemoteModels = false;

const int64 = (values) => new Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
const numbers = (tensor) => Array.from(tensor.data, Number);

async function logits(model, inputs) {
    const { start_logits, end_logits } = await model(inputs);
    return [numbers(start_logits), numbers(end_logits)];
}

async function open({ bundle, windows, question, passage }) {
    env.localModelPath = dirname(bundle);
    const name = basename(bundle);
    const model = await AutoModelForQuestionAnswering.from_pretrained(name, OPTIONS);
    const computed = [];
    for (const window of windows) {
        const [input_ids, token_type_ids] = [int64(window.input_ids), int64(window.token_type_ids)];
        computed.push(await logits(model, { input_ids, attention_mask: int64(window.input_ids.map(() => 1)), token_type_ids }));
    }
    const tokenizer = await AutoTokenizer.from_pretrained(name);
    const inputs = tokenizer(question, { text_pair: passage, return_token_type_ids: true });
    const answer = await (await pipeline('question-answering', name, OPTIONS))(question, passage);
    return {
        windows: computed,
        input_ids: numbers(inputs.input_ids),
        token_type_ids: numbers(inputs.token_type_ids),
        logits: await logits(model, inputs),
        answer: answer.answer,
    };
}

const results = [];
for (const task of JSON.parse(await text(process.stdin))) {
    results.push(await open(task));
}
console.log(JSON.stringify(results));
