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
{{- if get .Values.featureGates "AntreaIPAM" | default (and (not (hasKey .Values.featureGates "AntreaIPAM")) (get .Values.featureGates "AllAlpha")) }}true{{ end }}
{{- end }}

{{- /* The part of the ConfigMap that a program reads; a change of it restarts that program, and no other. */ -}}
{{- define "antrea.agentConfig" -}}
antrea-agent.conf: |
{{ tpl (.Files.Get "conf/antrea-agent.conf") . | trim | indent 2 }}
antrea-cni.conflist: |
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

{{- /* What the schema cannot say: rules over more than one value, refused before anything is changed. */ -}}
{{- define "antrea.validate" -}}
{{- if eq .Values.trafficEncapMode "networkPolicyOnly" }}
{{- fail "trafficEncapMode: networkPolicyOnly is not available in this version; use encap, noEncap or hybrid" }}
{{- end }}
{{- if and .Values.noSNAT (ne .Values.trafficEncapMode "noEncap") }}
{{- fail (printf "noSNAT: must be false with trafficEncapMode %s; the network knows Pods' addresses only with noEncap" .Values.trafficEncapMode) }}
{{- end }}
{{- if .Values.enableBridgingMode }}
{{- $missing := list }}
{{- if not (include "antrea.ipamEnabled" .) }}
{{- $missing = append $missing "featureGates.AntreaIPAM must be true, since it is for Pods of IPPools" }}
{{- end }}
{{- if ne .Values.trafficEncapMode "noEncap" }}
{{- $missing = append $missing (printf "trafficEncapMode must be noEncap, not %s, since bridged Pods are not in tunnels" .Values.trafficEncapMode) }}
{{- end }}
{{- if not .Values.noSNAT }}
{{- $missing = append $missing "noSNAT must be true, since the network must know the podCIDRs" }}
{{- end }}
{{- if $missing }}
{{- fail (printf "enableBridgingMode: %s" (join "; " $missing)) }}
{{- end }}
{{- end }}
{{- if and .Values.tunnelPort (eq .Values.tunnelType "gre") }}
{{- fail "tunnelPort: must be 0 with tunnelType gre, which has no ports" }}
{{- end }}
{{- if and .Values.nodeIPAM.enable (not .Values.nodeIPAM.clusterCIDRs) }}
{{- fail "nodeIPAM.clusterCIDRs: at least one range is needed when nodeIPAM.enable is true" }}
{{- end }}
{{- end }}
