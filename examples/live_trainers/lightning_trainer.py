"""Lightning as a worker that lives through changes.

    actorrun --nnodes=1:4 --nproc-per-node=8 lightning_trainer.py --output OUT

The Trainer itself goes on from the last checkpoint in each generation; the process, its
imports and its data stay.
"""
import argparse
import os

import actorrun
import actorrun.torch  # noqa: F401  Ends torch's groups when the group of workers changes.
import torch
from lightning.pytorch import Callback, LightningModule, Trainer


SAVE_STEPS = 50


class SafePoints(Callback):
    """Lets a change that can wait come between two steps, behind a checkpoint."""

    def __init__(self, generation, path):
        self.generation, self.path = generation, path

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        if trainer.global_step % SAVE_STEPS == 0:
            self.save(trainer)  # For a change that cannot wait.
        self.generation.safe_point(trainer.global_step, lambda: self.save(trainer))

    def save(self, trainer):
        draft = self.path + ".part"
        trainer.save_checkpoint(draft)  # All wait for it.
        if trainer.is_global_zero:
            os.replace(draft, self.path)


class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, index):
        x, y = batch
        return torch.nn.functional.mse_loss(self.layer(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    path = os.path.join(options.output, "last.ckpt")
    x = torch.linspace(0, 1, 4096).reshape(-1, 1)
    data = torch.utils.data.TensorDataset(x, 3 * x + 1)
    for generation in actorrun.generations():
        with generation:
            # Lightning takes ranks and addresses from the variables, as under torchrun.
            trainer = Trainer(
                max_steps=options.steps, strategy="ddp", accelerator="auto",
                devices=int(os.environ["LOCAL_WORLD_SIZE"]),
                num_nodes=generation.world_size // int(os.environ["LOCAL_WORLD_SIZE"]),
                default_root_dir=options.output, enable_progress_bar=False,
                callbacks=[SafePoints(generation, path)])
            trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=8),
                        ckpt_path=path if os.path.exists(path) else None)


if __name__ == "__main__":
    main()
