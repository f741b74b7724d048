{{- define "antrea.labels" -}}
app: antrea
app.kubernetes.io/name: antrea
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "antrea.agentImage" -}}
{{ .Values.agentImage.repository }}:{{ .Values.agentImage.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "antrea.controllerImage" -}}
{{ .Values.controllerImage.repository }}:{{ .Values.controllerImage.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "antrea.webhookImage" -}}
{{ .Values.webhookImage.repository }}:{{ .Values.webhookImage.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* Whether the gate AntreaIPAM is on, as the programs read featureGates: "true", else nothing. */ -}}
{{- define "antrea.ipamEnabled" -}}
{{- include "antrea.gateOn" (list .Values.featureGates "AntreaIPAM" "Alpha") }}
{{- end }}

{{- /* Whether the gate SecondaryNetwork is on, as the agent reads featureGates: "true", else nothing. */ -}}
{{- define "antrea.secondaryNetworkEnabled" -}}
{{- include "antrea.gateOn" (list .Values.featureGates "SecondaryNetwork" "Alpha") }}
{{- end }}

{{- /* The part of the ConfigMap that a program reads; a change of it restarts that program, and no other. */ -}}
{{- define "antrea.agentConfig" -}}
antrea-agent.conf: |
{{ tpl (.Files.Get "conf/antrea-agent.conf") . | trim | indent 2 }}
10-antrea.conflist: |
{{ tpl (.Files.Get "conf/antrea-cni.conflist") . | trim | indent 2 }}
{{- end }}

{{- define "antrea.controllerConfig" -}}
antrea-controller.conf: |
{{ tpl (.Files.Get "conf/antrea-controller.conf") . | trim | indent 2 }}
{{- end }}

{{- define "antrea.extraEnv" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "antrea.controllerArgs" -}}
- --config=/etc/antrea/antrea-controller.conf
- --v={{ .Values.logVerbosity | int }}
{{- range .Values.controller.antreaController.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- define "antrea.controllerEnv" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
# a restarted container of the same Pod leads again at once
- name: POD_UID
  valueFrom:
    fieldRef:
      fieldPath: metadata.uid
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
{{- include "antrea.extraEnv" .Values.controller.antreaController.extraEnv }}
{{- end }}

{{- /* A container that asks the API server only. */ -}}
{{- define "antrea.nobody" -}}
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}
