{{- /*
What another Antrea, the one in Go, has in the cluster, one line each with what to do: what would make the API server refuse
this chart in words that name no next step, or break the cluster while nobody serves it, or run on the Nodes beside this
one. `helm template` asks no cluster and finds nothing. docs/migration.md has the steps.
*/ -}}
{{- define "antrea.refuseOther" -}}
{{- $found := include "antrea.otherAntrea" . | trim }}
{{- if $found }}
{{- fail (printf "the cluster has parts of another Antrea, over which this one cannot be installed; docs/migration.md has all steps, in order:\n%s" $found) }}
{{- end }}
{{- end }}

{{- define "antrea.otherAntrea" -}}
{{- range $namespace := list "kube-system" .Release.Namespace | uniq }}
{{- range $kind, $name := dict "DaemonSet" "antrea-agent" "Deployment" "antrea-controller" }}
{{- if include "antrea.isOther" (lookup "apps/v1" $kind $namespace $name) }}
{{ printf "%s %s/%s: is not of this chart: uninstall it, by `helm uninstall` or `kubectl delete -f` of what it was installed with" $kind $namespace $name }}
{{- end }}
{{- end }}
{{- end }}
{{- range $kind := list "ValidatingWebhookConfiguration" "MutatingWebhookConfiguration" }}
{{- range $name := list "crdvalidator.antrea.io" "crdmutator.antrea.io" "labelsmutator.antrea.io" }}
{{- if include "antrea.isOther" (lookup "admissionregistration.k8s.io/v1" $kind "" $name) }}
{{ printf "%s %s: calls a Service that nobody serves then, and what it judges cannot be changed: kubectl delete %s %s" $kind $name (lower $kind) $name }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name := list "v1beta2.controlplane.antrea.io" "v1beta1.system.antrea.io" "v1alpha1.stats.antrea.io" }}
{{- if include "antrea.isOther" (lookup "apiregistration.k8s.io/v1" "APIService" "" $name) }}
{{ printf "APIService %s: stays unavailable, and no Namespace can be deleted meanwhile: kubectl delete apiservice %s" $name $name }}
{{- end }}
{{- end }}
{{- range $name, $served := include "antrea.servedVersions" . | fromYaml }}
{{- $definition := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name }}
{{- $stored := without (dig "status" "storedVersions" list $definition) $served }}
{{- if dig "metadata" "deletionTimestamp" "" $definition }}
{{ printf "CustomResourceDefinition %s: is being deleted; if it stays so, its objects are to be converted by a webhook that is gone: kubectl patch crd %s --type merge --patch '{\"spec\":{\"conversion\":{\"strategy\":\"None\",\"webhook\":null}}}'" $name $name }}
{{- else if $stored }}
{{ printf "CustomResourceDefinition %s: has objects that are stored as %s (status.storedVersions), and here is %s only: save and convert them with `antctl ipam convert`, then kubectl delete crd %s" $name (join ", " $stored) $served $name }}
{{- else if and (include "antrea.isOther" $definition) (not (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $definition)) }}
{{ printf "CustomResourceDefinition %s: is not of this chart: save its objects with `antctl ipam convert`, then kubectl delete crd %s" $name $name }}
{{- end }}
{{- end }}
{{- end }}

{{- /* "true" for an object that is there and has not the labels of this chart's; nothing otherwise. */ -}}
{{- define "antrea.isOther" -}}
{{- if and . (ne (dig "metadata" "labels" "app.kubernetes.io/name" "" .) "antrea") }}true{{ end }}
{{- end }}

{{- /* The version of each definition of this chart; a test compares. */ -}}
{{- define "antrea.servedVersions" -}}
ippools.crd.antrea.io: v1alpha2
ipallocations.crd.antrea.io: v1alpha1
{{- end }}
