"""Reads the manifests of examples/kubernetes, and says what a pod is to get."""

import re

try:
    import yaml
except ImportError:
    yaml = None

NAMESPACE = "training"


def documents(path):
    with open(path, encoding="utf-8") as file:
        return [x for x in yaml.safe_load_all(file) if x]


def of_kind(all_of_them, kind):
    return next(x for x in all_of_them if x["kind"] == kind)


def workload(all_of_them):
    """The Job, JobSet or StatefulSet, and the template of its pods."""
    for x in all_of_them:
        if x["kind"] in ("Job", "StatefulSet"):
            return x, x["spec"]["template"]
        if x["kind"] == "JobSet":
            job = x["spec"]["replicatedJobs"][0]["template"]
            return x, job["spec"]["template"]
    raise ValueError("there is no workload")


def pod_count(x):
    spec = x["spec"]
    if x["kind"] == "JobSet":
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    return spec["replicas"] if x["kind"] == "StatefulSet" else spec["parallelism"]


def pod_name(x, index):
    """Its host name: what the controllers of Kubernetes and JobSet make of it."""
    name = x["metadata"]["name"]
    if x["kind"] == "JobSet":
        return f"{name}-{x['spec']['replicatedJobs'][0]['name']}-0-{index}"
    return f"{name}-{index}"


def subdomain(x, template):
    """The headless service through which a pod's name can be resolved."""
    if x["kind"] == "JobSet":
        return x["metadata"]["name"]
    if x["kind"] == "StatefulSet":
        return x["spec"]["serviceName"]
    return template["spec"]["subdomain"]


def full_name(x, template, index):
    return (f"{pod_name(x, index)}.{subdomain(x, template)}.{NAMESPACE}"
            ".svc.cluster.local")


def environment(container):
    """The variables of a container, with $(NAME) replaced by earlier ones."""
    out = {}
    for x in container.get("env", []):
        if "valueFrom" in x:
            field = x["valueFrom"]["fieldRef"]["fieldPath"]
            out[x["name"]] = {"metadata.namespace": NAMESPACE}[field]
        else:
            out[x["name"]] = re.sub(
                r"\$\(([A-Z_]+)\)", lambda y: out.get(y[1], y[0]), x["value"])
    return out


def seconds(text):
    return float(str(text).rstrip("s"))


def bytes_of(quantity):
    number, unit = re.fullmatch(r"([0-9]+)(Ki|Mi|Gi)?", quantity).groups()
    return int(number) << {None: 0, "Ki": 10, "Mi": 20, "Gi": 30}[unit]


def dockerfile(path):
    """The instructions of a Dockerfile: (NAME, text), lines joined."""
    with open(path, encoding="utf-8") as file:
        text = "".join(x for x in file if not x.startswith("#"))
    text = text.replace("\\\n", " ")
    return [tuple(x.split(None, 1)) for x in text.splitlines() if x.strip()]
