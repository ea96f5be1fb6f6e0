"""The bundle that users deploy: what Databricks takes, files that there are, and commands that are ours."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from databricks.bundles.jobs import Job
from ruamel.yaml import YAML

from kip848_records.cli import _parser
from tests.docs.pages import DOCS

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "conf" / "databricks"
RESOURCES = BUNDLE / "resources"
VARIABLES = {
    "source": "kafka://broker:9092/__consumer_offsets",
    "tables": "s3://bucket/kip848",
    "cluster": "prod",
    "node_type_id": "i3.xlarge",
}


def load(path):
    return YAML(typ="safe").load(path)


@pytest.fixture
def bundle():
    return load(BUNDLE / "databricks.yml")


@pytest.fixture
def job():
    return load(RESOURCES / "nightly.job.yml")["resources"]["jobs"]["nightly"]


@pytest.fixture
def tasks(job):
    return {task["task_key"]: task for task in job["tasks"]}


def arguments(task):
    words = [re.sub(r"\$\{var\.(\w+)\}", lambda name: VARIABLES[name[1]], word) for word in task["parameters"]]
    command = {"nightly_audit": "audit", "check_convergence": "check"}[Path(task["python_file"]).stem]
    return _parser([command]).parse_args([command, *words])


def test_the_job_is_one_that_databricks_takes(job):
    assert Job.from_dict(job).as_dict()["tasks"][0]["task_key"] == "audit"


@pytest.mark.parametrize(
    "slip", [{"taks": []}, {"schedule": {"timezone": "UTC"}}, {"tasks": [{"task_key": "a", "notebook": {}}]}]
)
def test_a_slip_would_be_seen(job, slip):
    with pytest.raises(ValueError, match="Unexpected field"):
        Job.from_dict(job | slip)


@pytest.mark.not_everywhere  # no registry that CI reaches has the command; the fields of jobs are compared above
@pytest.mark.parametrize("name", ["databricks.yml", "resources/nightly.job.yml"])
@pytest.mark.process
def test_each_file_fits_the_schema_of_the_databricks_cli(name, tmp_path):
    if not shutil.which("databricks"):
        pytest.skip("the schema of whole bundles comes with the Databricks CLI: there is no `databricks` on the PATH")
    schema = tmp_path / "bundle.json"
    schema.write_bytes(subprocess.run(["databricks", "bundle", "schema"], capture_output=True, check=True).stdout)
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", schema, BUNDLE / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_it_includes_its_resources(bundle):
    assert [path for pattern in bundle["include"] for path in BUNDLE.glob(pattern)] == [RESOURCES / "nightly.job.yml"]


def test_its_variables_are_those_that_are_used(bundle):
    text = "".join(path.read_text() for path in (BUNDLE / "databricks.yml", RESOURCES / "nightly.job.yml"))
    assert set(bundle["variables"]) == set(re.findall(r"\$\{var\.(\w+)\}", text)) == set(VARIABLES)


def test_the_page_sets_variables_that_there_are(bundle):
    named = set(re.findall(r"BUNDLE_VAR_(\w+)", (DOCS / "databricks.md").read_text()))
    assert {name for name, variable in bundle["variables"].items() if "default" not in variable} <= named
    assert named <= set(bundle["variables"])


def test_every_file_that_it_names_is_there_and_is_taken_along(bundle, tasks):
    named = [tasks[key]["spark_python_task"]["python_file"] for key in ("audit", "check")]
    named.append(tasks["explore"]["notebook_task"]["notebook_path"])
    synced = [(BUNDLE / path).resolve() for path in bundle["sync"]["paths"]]
    for name in named:
        path = (RESOURCES / name).resolve()
        assert path.is_file()
        assert any(path.is_relative_to(folder) for folder in synced)


def test_tasks_take_the_wheel_that_the_bundle_builds(bundle, job, tasks):
    artifact = bundle["artifacts"]["kip848"]
    assert (BUNDLE / artifact["path"]).resolve() == ROOT
    assert "--wheel-dir dist" in artifact["build"]
    (environment,) = job["environments"]
    for wheel in (tasks["audit"]["libraries"][0]["whl"], *environment["spec"]["dependencies"]):
        folder, name = (RESOURCES / wheel).resolve().parent, Path(wheel).name
        assert (folder, name) == (ROOT / "dist", "*.whl")  # without [spark]: Databricks has one of its own
    assert tasks["check"]["environment_key"] == environment["environment_key"]


def test_a_live_topic_is_read_where_there_is_a_jvm(job, tasks):
    (cluster,) = job["job_clusters"]
    assert tasks["audit"]["job_cluster_key"] == cluster["job_cluster_key"]
    assert cluster["new_cluster"]["data_security_mode"] == "SINGLE_USER"
    assert any(
        "kafka-clients" in library.get("maven", {}).get("coordinates", "") for library in tasks["audit"]["libraries"]
    )


def test_the_audit_takes_its_arguments(tasks):
    taken = arguments(tasks["audit"]["spark_python_task"])
    assert (taken.sources, taken.out, taken.cluster) == ([VARIABLES["source"]], VARIABLES["tables"], "prod")


def test_the_check_takes_its_arguments_and_waits_for_the_audit(tasks):
    taken = arguments(tasks["check"]["spark_python_task"])
    assert (taken.sources, taken.cluster) == ([VARIABLES["tables"]], "prod")
    assert tasks["check"]["depends_on"] == tasks["explore"]["depends_on"] == [{"task_key": "audit"}]


def test_the_notebook_takes_its_parameters_and_has_the_wheel(tasks):
    task = tasks["explore"]
    assert task["job_cluster_key"] == tasks["audit"]["job_cluster_key"]
    assert task["libraries"] == tasks["audit"]["libraries"][:1]
    asked = re.findall(r'= parameter\("(\w+)"', (RESOURCES / task["notebook_task"]["notebook_path"]).read_text())
    assert set(task["notebook_task"]["base_parameters"]) <= set(asked)


def test_the_cluster_has_the_settings_that_are_not_this_machine_s(job):
    lines = (ROOT / "conf" / "spark-defaults.conf").read_text().splitlines()
    ours = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    here = {
        *("spark.jars.packages", "spark.jars.excludes", "spark.sql.extensions"),  # Delta is built in there
        "spark.sql.catalog.spark_catalog",
        *("spark.driver.memory", "spark.driver.extraJavaOptions"),  # of the machine
        *("spark.ui.enabled", "spark.log.level"),  # and of its people
        "spark.python.sql.dataFrameDebugging.enabled",  # there is one of another name, which is not ours to set
    }
    theirs = job["job_clusters"][0]["new_cluster"]["spark_conf"]
    assert {name: value for name, value in theirs.items() if name in ours} == {
        name: value for name, value in ours.items() if name not in here
    }
    assert set(theirs) - set(ours) == {"spark.databricks.cluster.profile"}
