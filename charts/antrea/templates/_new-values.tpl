{{- /*
With `helm upgrade --reuse-values` the values of the installed chart are all there is: what is new in this one is missing.
Here are the values that the release before had not, as in values.yaml; each template that reads values fills them in first.
*/ -}}
{{- define "antrea.newValues" -}}
agent:
  probePort: 10353
  dnsPolicy: ""
  extraVolumes: []
  antreaAgent:
    extraVolumeMounts: []
  antreaOVS:
    securityContext:
      privileged: false
      capabilities: [SYS_NICE, NET_ADMIN, SYS_ADMIN, IPC_LOCK]
cni:
  version: 1.0.0
  plugins:
    bandwidth: true
controller:
  selfSignedCert: true
webhook:
  probePort: 10355
{{- end }}

{{- define "antrea.fillValues" -}}
{{- include "antrea.fill" (dict "values" .Values "new" (include "antrea.newValues" . | fromYaml)) }}
{{- end }}

{{- /* Not merge: it takes false, 0 and "" for values that are missing. */ -}}
{{- define "antrea.fill" -}}
{{- $values := .values }}
{{- range $key, $new := .new }}
{{- if not (hasKey $values $key) }}
{{- $_ := set $values $key $new }}
{{- else if kindIs "map" $new }}
{{- include "antrea.fill" (dict "values" (get $values $key) "new" $new) }}
{{- end }}
{{- end }}
{{- end }}
