{{- /*
What has no value gets that of values.yaml; each template that reads values fills them in first. With `helm upgrade
--reuse-values` the values of the installed chart are all there is, and what is new in this one is missing; and null takes
a value away, or a section with all that is in it. The two cannot be distinguished, so both have the default, lists and
maps too: `[]` is no list, and a map loses each name that is null.
*/ -}}
{{- define "antrea.fillValues" -}}
{{- include "antrea.fill" (dict "values" .Values "defaults" (include "antrea.defaults" . | fromYaml) "sections" (include "antrea.sections" . | fromJsonArray) "above" "") }}
{{- end }}

{{- /* Not merge: it takes false, 0 and "" for values that are missing. */ -}}
{{- define "antrea.fill" -}}
{{- range $key, $default := .defaults }}
{{- $path := printf "%s%s" $.above $key }}
{{- $isSection := has $path $.sections }}
{{- $missing := not (hasKey $.values $key) }}
{{- if not $missing }}{{ $missing = kindIs "invalid" (get $.values $key) }}{{ end }}
{{- if $missing }}
{{- $_ := set $.values $key $default }}
{{- else if $isSection }}
{{- include "antrea.fill" (dict "values" (get $.values $key) "defaults" $default "sections" $.sections "above" (printf "%s." $path)) }}
{{- end }}
{{- end }}
{{- end }}
