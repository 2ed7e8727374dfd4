#!/usr/bin/env python3
"""Checks the manifests of examples/kubernetes without a cluster: that they are
YAML, that Kubernetes' own types know each of their fields (with
python3-kubernetes, and kubeconform if it is there), and that their parts fit each
other and the programs.

usage: manifests_test.py FOLDER
"""

import json
import os
import shutil
import subprocess
import sys

import manifests
from manifests import documents, environment, workload

MANIFESTS = ("job.yaml", "elastic.yaml", "jobset.yaml")
SHUTDOWN_TIMEOUT = 30  # seconds: the default of --shutdown-timeout
STOP_MARGIN = 10  # seconds that an agent may take beyond that

# Newer than Kubernetes 1.22, which is what Debian 12's python3-kubernetes knows.
NEWER_FIELDS = ("podFailurePolicy",)

problems = []


def check(holds, text):
    if not holds:
        problems.append(text)


# -- types --------------------------------------------------------------------


def check_fields(value, kind, where, models):
    """Compares a value with the class KIND of the Python client, which is made
    from Kubernetes' OpenAPI description."""
    if kind.startswith("list["):
        check(isinstance(value, list), f"{where} is no list")
        for i, x in enumerate(value if isinstance(value, list) else []):
            check_fields(x, kind[5:-1], f"{where}[{i}]", models)
    elif kind.startswith("dict("):
        check(isinstance(value, dict), f"{where} is no map")
        for key, x in (value if isinstance(value, dict) else {}).items():
            check_fields(x, kind.split(", ", 1)[1][:-1], f"{where}.{key}", models)
    elif kind == "str":
        check(isinstance(value, str), f"{where} is no text: {value!r}")
    elif kind == "int":
        check(type(value) is int, f"{where} is no integer: {value!r}")
    elif kind == "bool":
        check(isinstance(value, bool), f"{where} is neither true nor false")
    elif hasattr(models, kind):
        check_model(value, getattr(models, kind), where, models)


def check_model(value, model, where, models):
    if not isinstance(value, dict):
        check(False, f"{where} is no map")
        return
    kinds = {json_name: model.openapi_types[name]
             for name, json_name in model.attribute_map.items()}
    for name in value:
        check(name in kinds or name in NEWER_FIELDS, f"{where} has a field {name} that Kubernetes does not"
                             " know")
    names = {y: x for x, y in model.attribute_map.items()}
    try:
        model(**{names[x]: y for x, y in value.items() if x in names})
    except ValueError as error:  # Of a field that is required.
        check(False, f"{where}: {error}")
    for name, x in value.items():
        if name in kinds:
            check_fields(x, kinds[name], f"{where}.{name}", models)


def check_types(name, all_of_them):
    try:
        import kubernetes.client.models as models
    except ImportError:
        print("skipped: the fields; install python3-kubernetes")
        return
    for x in all_of_them:
        kind = x["kind"]
        if kind != "JobSet":
            check_model(x, getattr(models, "V1" + kind), f"{name}: {kind}", models)
        else:  # Not one of Kubernetes' own kinds, but its jobs are.
            for job in x["spec"]["replicatedJobs"]:
                check_model(job["template"], models.V1JobTemplateSpec,
                            f"{name}: job {job['name']}", models)


def check_with_kubeconform(path):
    if not shutil.which("kubeconform"):
        return
    done = subprocess.run(["kubeconform", "-strict", "-ignore-missing-schemas", path],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stdout + done.stderr)


# -- what must fit ------------------------------------------------------------


def check_pods(name, all_of_them):
    thing, template = workload(all_of_them)
    pod = template["spec"]
    container = pod["containers"][0]
    env = environment(container)
    ports = {x["name"]: x["containerPort"] for x in container["ports"]}

    seeds = env["PET_RDZV_ENDPOINT"].split(",")
    check(len(seeds) <= manifests.pod_count(thing), f"{name}: seeds that never come")
    for i, seed in enumerate(seeds):
        host, port = seed.rsplit(":", 1)
        check(host == manifests.full_name(thing, template, i),
              f"{name}: the endpoint {host} is not pod {i}")
        check(int(port) == ports["rendezvous"], f"{name}: the endpoint's port")
    check(env["PET_METRICS_PORT"] == f"0.0.0.0:{ports['metrics']}",
          f"{name}: probes need the port at all addresses")
    for probe, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        check(container[probe]["httpGet"]["path"] == path, f"{name}: {probe}")
        check(container[probe]["httpGet"]["port"] == "metrics", f"{name}: {probe}")
        check(container[probe]["timeoutSeconds"] >= 5,
              f"{name}: {probe}: an agent may take 4 s to answer")

    shutdown = manifests.seconds(env.get("PET_SHUTDOWN_TIMEOUT", SHUTDOWN_TIMEOUT))
    check(pod["terminationGracePeriodSeconds"] >= shutdown + STOP_MARGIN,
          f"{name}: the pod is killed before its agent has stopped the workers")

    least, most = env["PET_NNODES"].split(":")
    check(int(least) <= manifests.pod_count(thing) <= int(most),
          f"{name}: pods and --nnodes")

    check(pod["securityContext"]["runAsNonRoot"], f"{name}: root")
    check(pod["automountServiceAccountToken"] is False, f"{name}: token")
    own = container["securityContext"]
    check(own["readOnlyRootFilesystem"] and own["capabilities"]["drop"] == ["ALL"]
          and own["allowPrivilegeEscalation"] is False, f"{name}: rights")

    volumes = {x["name"]: x for x in pod["volumes"]}
    mounts = {x["mountPath"]: x for x in container["volumeMounts"]}
    check({x["name"] for x in mounts.values()} == set(volumes), f"{name}: volumes")
    folder, file = env["PET_SECRET_FILE"].rsplit("/", 1)
    secret = volumes[mounts[folder]["name"]]["secret"]
    check(file == "secret" and mounts[folder]["readOnly"]
          and secret["secretName"] == "actorrun" and secret["defaultMode"] == 0o440,
          f"{name}: secret")
    check("value" not in str(secret), f"{name}: a secret stands in the manifest")
    check(env["XDG_STATE_HOME"].startswith("/tmp/") and "/tmp" in mounts,
          f"{name}: the journal's folder cannot be written")

    labels = template["metadata"]["labels"]
    if thing["kind"] != "JobSet":
        service = manifests.of_kind(all_of_them, "Service")
        check(service["metadata"]["name"] == manifests.subdomain(thing, template)
              and service["spec"]["clusterIP"] == "None"
              and service["spec"]["publishNotReadyAddresses"] is True
              and service["spec"]["selector"].items() <= labels.items()
              and service["spec"]["ports"][0]["port"] == ports["rendezvous"],
              f"{name}: the service does not lead to the pods")
    if thing["kind"] == "StatefulSet":
        check(thing["spec"]["selector"]["matchLabels"].items() <= labels.items(),
              f"{name}: selector")
        check(thing["spec"]["podManagementPolicy"] == "Parallel",
              f"{name}: pods would wait for each other to be ready")
    else:
        check(pod["restartPolicy"] == "Never", f"{name}: podFailurePolicy needs it")


def check_dockerfile(folder):
    lines = manifests.dockerfile(os.path.join(folder, "Dockerfile"))
    said = dict(lines)
    _, template = workload(documents(os.path.join(folder, "job.yaml")))
    pod = template["spec"]["securityContext"]
    check(said["USER"] == f"{pod['runAsUser']}:{pod['runAsGroup']}",
          "Dockerfile: another user than the manifests'")
    check(json.loads(said["ENTRYPOINT"]) == ["actorrun"], "Dockerfile: ENTRYPOINT")
    check(said["FROM"].startswith("debian:") and said["FROM"].endswith("-slim"),
          "Dockerfile: FROM")
    check([x for x, _ in lines].index("USER") > [x for x, _ in lines].index("RUN"),
          "Dockerfile: only root can install")


def main():
    if manifests.yaml is None:
        print("skipped: there is no python3-yaml here")
        return 77
    folder = sys.argv[1]
    for name in MANIFESTS:
        path = os.path.join(folder, name)
        found = documents(path)
        check_types(name, found)
        check_with_kubeconform(path)
        try:
            check_pods(name, found)
        except (KeyError, TypeError, ValueError) as error:
            check(False, f"{name}: a field is missing or of another type: {error!r}")
    try:
        check_dockerfile(folder)
    except (KeyError, TypeError, ValueError) as error:
        check(False, f"Dockerfile, or its user in job.yaml: {error!r}")
    for x in problems:
        print(x)
    print(f"{len(MANIFESTS)} manifests, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
