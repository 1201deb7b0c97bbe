"""``clickgym train``, ``deploy`` and ``compare``: what they write, and that they go on."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from forked import command_code, run_command, run_forked, start_forked
from looping import loop_over

from clickgym import agents, clickmodels, data, evaluation, policies, studies
from clickgym.agents.watch import TAGS
from clickgym.scripts import main

PNG = b"\x89PNG\r\n\x1a\n"
SMALL = ["--queries", "10", "--docs", "12", "--impressions", "2000", "--slots", "5"]
OWN, SB3 = "PolicyGradient", "PPO"


def small_world():
    """What the options ``SMALL`` name."""
    return data.synthetic_world(n_queries=10, n_docs=12)


def curves(folder):
    """Return the steps and values of every TensorBoard tag below a folder."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = {}
    for path in Path(folder).rglob("events.out.tfevents.*"):
        events = EventAccumulator(str(path))
        events.Reload()
        for tag in events.Tags()["scalars"]:
            found.setdefault(tag, []).extend((e.step, e.value) for e in events.Scalars(tag))
    return found


@pytest.fixture(scope="module", params=[OWN, SB3])
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    options = ["--agent", request.param, "--pages", "3000", "--every", "1000"]
    assert main(["train", *SMALL, *options, "--out", str(folder)]) == 0
    return request.param, folder


def test_training_writes_the_four_curves(trained):
    _, folder = trained
    found = curves(folder)
    for tag in TAGS:
        assert len({step for step, _ in found[tag]}) > 1, tag
    assert [tag for tag in found if tag.startswith("reward/")] == ["reward/expected_clicks"]
    gap = dict(found["curse/gap"])
    promised, deployed = dict(found["curse/promised"]), dict(found["curse/deployed"])
    for step, value in gap.items():
        assert value == pytest.approx(promised[step] - deployed[step], abs=1e-5)


def test_training_saves_a_policy_that_loads_as_data(trained):
    _, folder = trained
    policy = policies.Policy.load(folder / "policy.safetensors")
    world = small_world()
    user = clickmodels.true_user("CoCM-mismatch", world)
    last = studies.load_rows(folder / "history.parquet")[-1]
    value = evaluation.value(policy, user, world)
    assert value == pytest.approx(last["deployed"], abs=1e-6)
    assert (folder / "training.png").read_bytes()[:8] == PNG


def test_a_saved_policy_is_deployed(trained, capsys):
    _, folder = trained
    policy = ["--policy", str(folder / "policy.safetensors")]
    world = ["--queries", "10", "--docs", "12"]
    assert main(["deploy", *policy, *world, "--user", "DBN"]) == 0
    assert "clicks per page on DBN" in capsys.readouterr().out
    model = folder / "click_model.safetensors"
    picture = folder / "report.png"
    options = ["--model", str(model), "--plot", str(picture)]
    assert main(["deploy", *policy, *world, *options]) == 0
    assert "added_by_optimising" in capsys.readouterr().out
    assert picture.read_bytes()[:8] == PNG


def test_a_policy_of_another_world_is_refused_with_its_options(trained, capsys):
    _, folder = trained
    policy = ["--policy", str(folder / "policy.safetensors")]
    assert main(["deploy", *policy, "--queries", "11"]) == 1
    error = capsys.readouterr().err
    assert "it was made with --queries 10 --docs 12" in error
    assert "other options than when the policy was made: --queries was 10" in error


def test_a_model_of_another_world_is_refused_with_its_options(trained, tmp_path, capsys):
    _, folder = trained
    model = str(folder / "click_model.safetensors")
    assert main(["train", "--model", model, "--pages", "100", "--out", str(tmp_path / "new")]) == 1
    error = capsys.readouterr().err
    assert "another world" in error
    assert "it was made with --queries 10 --docs 12" in error


def test_a_policy_is_deployed_as_it_was_trained(tmp_path, capsys):
    folder = tmp_path / "a folder"
    options = ["--user", "DBN", "--logging", "BM25", "--world-seed", "3", "--pages", "100"]
    assert main(["train", *SMALL, *options, "--out", str(folder)]) == 0
    printed = capsys.readouterr().out.splitlines()[-1]
    assert "--user DBN --logging BM25" in printed
    assert main(shlex.split(printed)[2:]) == 0
    report = capsys.readouterr().out
    policy = ["--policy", str(folder / "policy.safetensors")]
    model = ["--model", str(folder / "click_model.safetensors")]
    assert main(["deploy", *policy, *model]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == (report, "")
    assert main(["deploy", *policy, *model, "--logging", "random"]) == 0
    told = capsys.readouterr()
    assert told.out != report
    assert told.err == "other options than when the policy was made: --logging was BM25\n"


def test_settings_of_something_else_beside_a_policy_are_none_of_its_options(trained, tmp_path):
    _, folder = trained
    shutil.copy(folder / "policy.safetensors", tmp_path)
    options = ["--policy", str(tmp_path / "policy.safetensors"), "--queries", "10", "--docs", "12"]
    for text in ("", "[1]", '{"user": "you"}'):
        (tmp_path / "settings.json").write_text(text)
        assert main(["deploy", *options]) == 0


def test_files_that_are_not_there_are_named_with_their_option(tmp_path, capsys):
    for option in ("--policy", "--model"):
        model = [] if option == "--policy" else ["--policy", __file__]
        assert main(["deploy", *model, option, "/nope"]) == 1
        assert f"{option} /nope: no such file" in capsys.readouterr().err


def test_training_ends_with_the_command_that_deploys(trained, capsys):
    name, folder = trained
    options = ["--agent", name, "--pages", "3000", "--every", "1000"]
    main(["train", *SMALL, *options, "--out", str(folder)])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("deploy: clickgym deploy ")
    assert main(last.split()[2:]) == 0
    report = capsys.readouterr().out
    assert "PBM promised, CoCM-mismatch delivered" in report


def test_a_picture_without_a_report_is_refused(trained, capsys):
    _, folder = trained
    options = ["--policy", str(folder / "policy.safetensors"), "--plot", "x.png"]
    assert main(["deploy", *options, "--queries", "10", "--docs", "12"]) == 1
    assert "--model" in capsys.readouterr().err


def test_a_finished_run_is_not_trained_again(trained, capsys):
    name, folder = trained
    before = policies.Policy.load(folder / "policy.safetensors").greedy(range(10))
    options = ["--agent", name, "--pages", "3000", "--every", "1000"]
    assert main(["train", *SMALL, *options, "--out", str(folder)]) == 0
    assert "already finished" in capsys.readouterr().out
    after = policies.Policy.load(folder / "policy.safetensors").greedy(range(10))
    assert after.tolist() == before.tolist()


def test_a_smaller_budget_than_was_spent_is_refused(trained, capsys):
    name, folder = trained
    options = ["--agent", name, "--pages", "1000", "--every", "500"]
    assert main(["train", *SMALL, *options, "--out", str(folder)]) == 1
    assert "more than the budget of 1,000" in capsys.readouterr().err
    assert json.loads((folder / "settings.json").read_text())["pages"] == 3000


OWN_AGENT = """
from clickgym import agents, policies

@agents.register("Lazy")
class Lazy(agents.Agent):
    def learn(self, until):
        self.pages = until

    def policy(self):
        return policies.Ranker(self.task.world.candidates, self.task.slots, world=self.task.world)
"""


@pytest.mark.slow
def test_an_agent_of_ones_own_is_trained_and_compared(tmp_path):
    (tmp_path / "lazy_agent.py").write_text(OWN_AGENT)
    command = [str(Path(sys.executable).with_name("clickgym"))]
    own = [*SMALL, "--module", "lazy_agent"]
    train = [*command, "train", *own, "--agent", "Lazy", "--pages", "100"]
    ran = subprocess.run(train, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "Lazy has no checkpoints" in ran.stdout
    compare = [*command, "compare", *own, "--agent", "Lazy", OWN, "--model", "PBM", "--user",
               "DBN", "--seeds", "1", "--pages", "600", "--jobs", "2"]  # fmt: skip
    ran = subprocess.run(compare, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stderr
    assert "Lazy in PBM" in ran.stdout


OWN_MODEL = """
import numpy as np
from clickgym import clickmodels

@clickmodels.register("Even")
class Even(clickmodels.ClickModel):
    def __init__(self, rate):
        self.rate = np.asarray(rate)

    def relevance(self):
        return self.rate

    def conditional_click_probs(self, query, ranking, clicks):
        return np.where(ranking >= 0, self.rate[query[:, None], ranking], 0.0)

    @classmethod
    def fit(cls, log, world, seed=0):
        return cls(np.full(world.relevance.shape, log.clicks.mean()))

    def state(self):
        return {"rate": self.rate}
"""


def test_a_click_model_of_ones_own_goes_through_every_command(tmp_path):
    (tmp_path / "even_model.py").write_text(OWN_MODEL)

    def run(*words):
        ran = run_command(list(words), tmp_path)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    own = ["--module", "even_model", "--model", "Even"]
    printed = run("train", *SMALL, *own, "--pages", "100").splitlines()[-1]
    assert "--module even_model" in printed
    assert "Even promised" in run(*shlex.split(printed)[2:])
    assert "Even Max-Reward" in run("curse", *SMALL, *own, "--seeds", "2")
    size = ["--queries", "10", "--docs", "12"]
    run("collect", *size, "--impressions", "2000")
    assert "Even" in run("fit", "--log", "log.parquet", *size, *own, "PBM", "--jobs", "2")
    few = ["--user", "DBN", "--logging", "random", "--seeds", "1", "--test-pages", "100"]
    run("protocol", *SMALL, *own, *few, "--no-shift")
    rows = studies.load_rows(tmp_path / "protocol-quick" / "rows.parquet")
    assert {row["model"] for row in rows} == {"Even"}
    module = tmp_path / "even_model.py"
    module.write_text(OWN_MODEL.replace("log.clicks.mean()", "0.5"))
    assert "none taken from an earlier run" in run("curse", *SMALL, *own, "--seeds", "2")


def test_a_folder_with_another_run_is_refused(trained, capsys):
    name, folder = trained
    options = ["--agent", name, "--seed", "7"]
    assert main(["train", *SMALL, *options, "--out", str(folder)]) == 1
    assert "--seed was 0" in capsys.readouterr().err


@loop_over(
    ("options", "message"),
    [
        (["--agent", "XYZ"], "--agent must be one of CascadeUCB1"),
        (["--user", "XYZ"], "--user must be one of"),
        (["--model", "XYZ"], "--model 'XYZ' is neither a file nor one of"),
        (["--setting", "batch"], "name=value"),
        (["--setting", "nonsense=1"], "--setting nonsense=1: PolicyGradient has no"),
        (["--agent", "PPO", "--setting", "learning_rate=fast"], "learning_rate must hold numbers"),
        (["--agent", "PPO", "--setting", "hidden=0"], "hidden must be"),
        (["--agent", "DQN", "--setting", "half_life=0"], "half_life must be above 0"),
        (["--pages", "-5"], "--pages must be at least 1"),
        (["--every", "-3"], "--every must be at least 1"),
        (["--seed", "-1"], "--seed must be at least 0"),
        (["--model", "TopPop"], "--model must be one of "),
        (["--model", "TopPop"], "TopPop is not generative, so it promises nothing"),
    ],
)
def test_bad_options_end_with_a_message_before_anything_is_written(
    options, message, tmp_path, capsys
):
    folder = tmp_path / "new"
    assert main(["train", *SMALL, *options, "--out", str(folder)]) == 1
    assert message in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize("name", [OWN, SB3])
def test_a_killed_training_ends_with_the_same_budget(name, tmp_path):
    folder = tmp_path / "run"
    options = ["--pages", "40000", "--every", "2000", "--out", str(folder)]
    code = command_code(["train", *SMALL, "--agent", name, *options])
    process = start_forked(code, tmp_path)
    deadline = time.monotonic() + 120
    while not (folder / "checkpoint.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.join()
    assert not (folder / "policy.safetensors").exists()
    again = run_forked(code, tmp_path)
    assert again.returncode == 0, again.stderr
    assert "going on from page" in again.stdout
    pages = [row["pages"] for row in studies.load_rows(folder / "history.parquet")]
    assert pages[0] == 0
    assert pages == sorted(set(pages))
    assert 40_000 <= pages[-1] < 45_000


def test_a_zip_needs_trust(tmp_path, capsys):
    from stable_baselines3 import PPO

    world = small_world()
    user = clickmodels.true_user("CoCM-mismatch", world)
    task = agents.Task(world, user, 5, "clicks", False)
    env = agents.as_vec_env(task.vector_env(8, "scores", "features"))
    path = tmp_path / "agent.zip"
    PPO("MlpPolicy", env, n_steps=4, batch_size=32, n_epochs=1).learn(32).save(path)
    options = ["deploy", "--policy", str(path), "--queries", "10", "--docs", "12", "--slots", "5"]
    assert main(options) == 1
    assert "--trust" in capsys.readouterr().err
    assert main([*options, "--trust", "--algorithm", "SAC"]) == 1
    assert "does not load as SAC" in capsys.readouterr().err
    assert main([*options, "--trust"]) == 0
    assert "clicks per page on CoCM-mismatch (exact)" in capsys.readouterr().out


COMPARE = [
    "compare", *SMALL, "--agent", OWN, "CascadeUCB1", "--model", "PBM", "true user",
    "--user", "DBN", "CoCM", "--seeds", "2", "--pages", "2000",
]  # fmt: skip


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    assert main([*COMPARE, "--out", str(folder)]) == 0
    return folder


def test_compare_has_a_row_for_every_combination(compared):
    rows = studies.load_rows(compared / "rows.parquet")
    assert len({(r["agent"], r["model"], r["user"], r["seed"]) for r in rows}) == len(rows) == 16
    for row in rows:
        assert row["gap"] == pytest.approx(row["promised"] - row["deployed"])
        if row["model"] == "true user":
            assert row["gap"] == pytest.approx(0.0, abs=1e-9)
    history = studies.load_rows(compared / "history.parquet")
    assert {row["pages"] for row in history} >= {0}


def test_compare_draws_and_writes_for_people(compared):
    names = ("heat-map.png", "parting.png", "training-DBN.png", "training-CoCM.png")
    for name in names:
        assert (compared / name).read_bytes()[:8] == PNG
    text = (compared / "tables.md").read_text()
    assert "CascadeUCB1 in PBM" in text
    assert "±" in text
    assert "| pages |" in text
    assert json.loads((compared / "settings.json").read_text())["seeds"] == 2


def test_compare_killed_and_started_again_has_the_same_table(compared, tmp_path):
    folder = tmp_path / "again"
    code = command_code([*COMPARE, "--out", str(folder)])
    process = start_forked(code, tmp_path)
    deadline = time.monotonic() + 120
    while len(list(folder.glob("cells/*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.join()
    assert not (folder / "rows.parquet").exists()
    again = run_forked(code, tmp_path)
    assert again.returncode == 0, again.stderr
    assert studies.load_rows(folder / "rows.parquet") == studies.load_rows(
        compared / "rows.parquet"
    )


def test_models_are_fitted_once_for_all_agents(compared):
    assert len(list((compared / "models").glob("*.safetensors"))) == 4


def test_curves_of_runs_with_different_numbers_of_points_are_drawn():
    def row(seed, pages):
        points = [{"pages": p, "promised": 1.0 + p, "deployed": 1.0} for p in pages]
        known = {"agent": "A", "model": "M", "user": "U", "best": 2.0, "seed": seed}
        return {**known, "history": points}

    figure = studies.training_curves([row(0, [0, 5, 10]), row(1, [0, 10])], "U")
    deployed, promised = figure.axes[0].get_lines()[:2]
    assert deployed.get_ydata().tolist() == [1.0, 1.0, 1.0]
    assert promised.get_ydata().tolist() == [1.0, 6.0, 11.0]


def test_the_fall_of_a_run_is_found():
    def run(promised, deployed):
        points = zip(promised, deployed, strict=True)
        return {"history": [{"promised": p, "deployed": d} for p, d in points]}

    assert studies.parting(run([1, 2, 3], [1.0, 2.0, 1.5])) == 0.5
    assert studies.parting(run([1, 2, 3], [1.0, 2.0, 3.0])) == -1.0
    assert studies.parting(run([1, 3, 2], [1.0, 2.0, 1.5])) == 0.0
    noisy = run([1, 2, 3, 4, 5, 6], [1.0, 1.0, 2.0, 1.0, 1.4, 1.6])
    assert studies.parting(noisy) == pytest.approx(0.0)


def test_compare_refuses_unknown_names(tmp_path, capsys):
    for flag in ("--agent", "--model", "--user"):
        assert main(["compare", flag, "XYZ", "--out", str(tmp_path / "new")]) == 1
        assert "'XYZ'" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
