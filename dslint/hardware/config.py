"""A DeepSpeed config for a plan: the fewest keys that make it right, in the order people write them."""

from __future__ import annotations

from typing import Any

from dslint.hardware.memory import Strategy
from dslint.hardware.plan import GLOBAL_BATCH, Plan
from dslint.launches.launch import Framework

# A fine-tuning rate; bare DeepSpeed has nobody else to take one from.
LEARNING_RATE = 2e-5

Config = dict[str, Any]


def config_for(plan: Plan, framework: Framework) -> Config:
    """The config of a plan. It holds no key that the framework sets itself or refuses.

    Raises:
        ValueError: the plan chose nothing, since nothing fits.
    """
    if plan.chosen is None:
        raise ValueError("nothing fits, so there is no config")
    return {
        **batch(plan, framework),
        **precision(plan),
        "zero_optimization": zero(plan.chosen.strategy, plan),
        **optimizer(framework),
        "gradient_clipping": 1.0,
    }


def batch(plan: Plan, framework: Framework) -> Config:
    """The Trainer and Accelerate fill "auto" in; Lightning refuses gradient_accumulation_steps here."""
    if framework in ("transformers", "accelerate"):
        keys = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
        return dict.fromkeys(keys, "auto")
    micro = micro_batch(plan)
    if framework == "lightning":
        return {"train_micro_batch_size_per_gpu": micro}
    steps = accumulation(plan)
    return {
        "train_batch_size": micro * steps * plan.setup.world,
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": steps,
    }


def micro_batch(plan: Plan) -> int:
    return plan.chosen.micro_batch if plan.chosen else 1


def accumulation(plan: Plan) -> int:
    """The micro batches that make up a step of about GLOBAL_BATCH sequences."""
    return max(1, GLOBAL_BATCH // (micro_batch(plan) * plan.setup.world))


def precision(plan: Plan) -> Config:
    """One format on. fp16 starts at a loss scale of 2^16 and may fall to 1, below which gradients vanish."""
    if plan.setup.precision == "bf16":
        return {"bf16": {"enabled": True}}
    if plan.setup.precision == "fp32":
        return {}
    return {
        "fp16": {
            "enabled": True,
            "loss_scale": 0,
            "initial_scale_power": 16,
            "loss_scale_window": 1000,
            "hysteresis": 2,
            "min_loss_scale": 1,
        }
    }


def zero(strategy: Strategy, plan: Plan) -> Config:
    block: Config = {"stage": strategy.stage}
    if strategy.offload != "none":
        block["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if strategy.offload == "all":
        block["offload_param"] = {"device": "cpu", "pin_memory": True}
    if strategy.stage >= 2:
        block["overlap_comm"] = True
    block["reduce_bucket_size"] = plan.setup.bucket
    if strategy.stage < 3:
        block["allgather_bucket_size"] = plan.setup.bucket
    else:
        # Without it a checkpoint holds the weights in shards alone.
        block["stage3_gather_16bit_weights_on_model_save"] = True
    return block


def optimizer(framework: Framework) -> Config:
    """Accelerate and Lightning take the optimizer from the script, and Accelerate refuses a second one."""
    if framework in ("accelerate", "lightning"):
        return {}
    auto = framework == "transformers"
    params: Config = {
        "lr": "auto" if auto else LEARNING_RATE,
        "betas": "auto" if auto else [0.9, 0.999],
        "eps": "auto" if auto else 1e-8,
        "weight_decay": "auto" if auto else 0.01,
    }
    return {"optimizer": {"type": "AdamW", "params": params}}
