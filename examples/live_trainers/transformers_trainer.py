"""The Trainer of transformers as a worker that lives through changes.

    actorrun --nnodes=1:4 --nproc-per-node=8 transformers_trainer.py --output OUT

The Trainer itself goes on from the last checkpoint in each generation; the process, its
imports and its data stay.
"""
import argparse

import actorrun
import actorrun.torch  # noqa: F401  Ends torch's groups when the group of workers changes.
import torch
from accelerate.state import AcceleratorState, PartialState
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint


class SafePoints(TrainerCallback):
    """Lets a change that can wait come between two steps, behind a checkpoint."""

    def __init__(self, generation, trainer):
        self.generation, self.trainer = generation, trainer

    def on_step_end(self, args, state, control, **_):
        self.generation.safe_point(state.global_step, self.save)

    def save(self):
        self.trainer._save_checkpoint(self.trainer.model, trial=None)


class Line(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        x = torch.tensor([i / 4096])
        return {"x": x, "y": 3 * x + 1}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def forward(self, x, y):
        out = self.layer(x)
        return {"loss": torch.nn.functional.mse_loss(out, y), "out": out}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    on_cpu = not torch.cuda.is_available()
    for generation in actorrun.generations():
        with generation:
            # What accelerate knows of the last generation.
            AcceleratorState._reset_state(reset_partial_state=True)
            PartialState._reset_state()
            arguments = TrainingArguments(
                output_dir=options.output, max_steps=options.steps, save_steps=50,
                save_total_limit=3, logging_steps=20, report_to=[], disable_tqdm=True,
                per_device_train_batch_size=8, use_cpu=on_cpu,
                # On CPUs accelerate would take MPI, and transformers 5.12 cannot load the
                # state of an optimizer in a group.
                ddp_backend="gloo" if on_cpu else "nccl", save_only_model=on_cpu)
            trainer = Trainer(model=Model(), args=arguments, train_dataset=Line())
            trainer.add_callback(SafePoints(generation, trainer))
            last = get_last_checkpoint(options.output)
            print(f"generation {generation.number}: rank {generation.rank} of"
                  f" {generation.world_size}, from {last}", flush=True)
            trainer.train(resume_from_checkpoint=last)
            print(f"done: step {trainer.state.global_step}", flush=True)


if __name__ == "__main__":
    main()
