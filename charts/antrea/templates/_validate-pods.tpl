{{- /* Rules of what values put into the Pods of the programs: images, folders of the Node, and names that the chart needs itself. */ -}}
{{- define "antrea.podRules" -}}
{{- range $key := list "agentImage" "controllerImage" "webhookImage" }}
{{- $image := get $.Values $key }}
{{- if regexMatch "(^|/)antrea-((agent|controller)-)?(ubuntu|ubi)$" $image.repository }}
{{- include "antrea.wrong" (dict "key" (printf "%s.repository" $key) "value" $image.repository "rule" "is an image of Antrea in Go, which this chart cannot run; name the one of this version, see README.md") }}
{{- end }}
{{- include "antrea.text" (dict "key" (printf "%s.repository" $key) "value" $image.repository "rule" "must be the name of an image, without tag" "match" `^([^\s/@]+/)*[^\s/:@]+(@sha256)?$` "except" "") }}
{{- include "antrea.text" (dict "key" (printf "%s.tag" $key) "value" $image.tag "rule" "must be a tag, with or without a digest, or empty" "match" `^$|^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(@sha256:[0-9a-f]{64})?$` "except" "") }}
{{- end }}
{{- range $key, $value := dict "cni.hostBinPath" .Values.cni.hostBinPath "cni.hostConfPath" .Values.cni.hostConfPath "agent.podResourcesPath" .Values.agent.podResourcesPath }}
{{- include "antrea.text" (dict "key" $key "value" $value "rule" "must be an absolute path without .. : # and quotes" "match" `^/[^:#"'\x00-\x1f\x7f]*$` "except" `(^|/)[.][.](/|$)`) }}
{{- end }}
{{- range $app := list "agent" "controller" "webhook" }}
{{- $values := get $.Values $app }}
{{- range $key, $own := include "antrea.podLabels" $app | fromYaml }}
{{- $given := get $values.podLabels $key }}
{{- if and (hasKey $values.podLabels $key) (ne (toString $given) $own) }}
{{- include "antrea.wrong" (dict "key" (printf "%s.podLabels.%s" $app $key) "value" $given "rule" (printf "must be %s, by which the Pods are found; leave it out" $own)) }}
{{- end }}
{{- end }}
{{- $checksum := "checksum/config" }}
{{- if hasKey $values.podAnnotations $checksum }}
{{- include "antrea.wrong" (dict "key" (printf "%s.podAnnotations.%s" $app $checksum) "value" (get $values.podAnnotations $checksum) "rule" "is written by the chart, so that a change of the configuration restarts the Pods; leave it out") }}
{{- end }}
{{- end }}
{{- $node := list "NODE_NAME" "POD_NAME" "POD_NAMESPACE" }}
{{- include "antrea.ownEnv" (dict "key" "agent.installCNI" "given" .Values.agent.installCNI.extraEnv "own" (list "SKIP_CNI_BINARIES")) }}
{{- include "antrea.ownEnv" (dict "key" "agent.antreaAgent" "given" .Values.agent.antreaAgent.extraEnv "own" (concat $node (list "PROBE_PORT" "CONFIG_FILE_MODE"))) }}
{{- include "antrea.ownEnv" (dict "key" "controller.antreaController" "given" .Values.controller.antreaController.extraEnv "own" (concat $node (list "POD_UID" "PROBE_SOCKET"))) }}
{{- include "antrea.ownEnv" (dict "key" "webhook.antreaWebhook" "given" .Values.webhook.antreaWebhook.extraEnv "own" (concat $node (list "PROBE_PORT"))) }}
{{- end }}

{{- /* Of a variable that is there twice the last counts. */ -}}
{{- define "antrea.ownEnv" -}}
{{- $rule := . }}
{{- range $name, $value := .given }}
{{- if has $name $rule.own }}
{{- include "antrea.wrong" (dict "key" (printf "%s.extraEnv.%s" $rule.key $name) "value" $value "rule" "is set by the chart; leave it out") }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The labels by which the Pods of agent, controller or webhook are found. */ -}}
{{- define "antrea.podLabels" -}}
app: antrea
component: antrea-{{ . }}
{{- end }}
