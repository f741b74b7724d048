{{- /*
Whatever agent or controller would refuse at their start is refused here, before anything is changed. The rules of the
settings files come from libs/settings (_settings.tpl); what is only in the chart is below. All that is wrong is named at
once, one line each.
*/ -}}
{{- define "antrea.validate" -}}
{{- $settings := include "antrea.settings" . }}
{{- $nodeIPAM := "" }}
{{- if not (contains "nodeIPAM.clusterCIDRs[" $settings) }}{{ $nodeIPAM = include "antrea.nodeIPAM" . }}{{ end }}
{{- $wrong := printf "%s%s%s%s%s" $settings (include "antrea.antreaValues" .) $nodeIPAM (include "antrea.chartRules" .) (include "antrea.podRules" .) | trim }}
{{- if $wrong }}
{{- fail (printf "these values cannot be used:\n%s" $wrong) }}
{{- end }}
{{- end }}

{{- /* One line: the value, as it was given, and the rule that it breaks. */ -}}
{{- define "antrea.wrong" -}}
{{ printf "%s: %s: %s\n" .key (toJson .value) .rule }}
{{- end }}

{{- define "antrea.text" -}}
{{- $text := toString .value }}
{{- if or (not (regexMatch .match $text)) (and .except (regexMatch .except $text)) }}
{{- include "antrea.wrong" . }}
{{- end }}
{{- end }}

{{- define "antrea.words" -}}
{{- if not (has (toString .value) .words) }}
{{- include "antrea.wrong" . }}
{{- end }}
{{- end }}

{{- define "antrea.number" -}}
{{- $number := .value | int64 }}
{{- $fits := false }}
{{- range .ranges }}
{{- if and (ge $number (index . 0 | int64)) (le $number (index . 1 | int64)) }}{{ $fits = true }}{{ end }}
{{- end }}
{{- if not $fits }}
{{- include "antrea.wrong" . }}
{{- end }}
{{- end }}

{{- define "antrea.duration" -}}
{{- $text := toString .value }}
{{- $units := dict "ns" 0.000001 "us" 0.001 "µs" 0.001 "ms" 1.0 "s" 1000.0 "m" 60000.0 "h" 3600000.0 }}
{{- $ms := 0.0 }}
{{- range regexFindAll "[0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h)" $text -1 }}
{{- $unit := regexFind "[a-zµ]+$" . }}
{{- $ms = addf $ms (mulf (trimSuffix $unit . | float64) (get $units $unit)) }}
{{- end }}
{{- if or (not (regexMatch "^(0|([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+)$" $text)) (lt $ms (float64 .min)) (gt $ms (float64 .max)) }}
{{- include "antrea.wrong" . }}
{{- end }}
{{- end }}

{{- /* Each member of a list. */ -}}
{{- define "antrea.list" -}}
{{- $rule := . }}
{{- range $index, $member := .value }}
{{- include $rule.test (merge (dict "key" (printf "%s[%d]" $rule.key $index) "value" $member) $rule) }}
{{- end }}
{{- end }}

{{- define "antrea.gates" -}}
{{- $known := concat .available .unavailable }}
{{- $unavailable := .unavailable }}
{{- range $name, $on := .gates }}
{{- $wrong := dict "key" (printf "featureGates.%s" $name) "value" $on }}
{{- if has $name (list "AllAlpha" "AllBeta") }}
{{- else if not (has $name $known) }}
{{- $meant := "" }}
{{- range $known }}{{ if eq (lower .) (lower $name) }}{{ $meant = . }}{{ end }}{{ end }}
{{- $hint := ternary (printf "did you mean %s?" $meant) "docs/feature-gates.md lists those there are" (ne $meant "") }}
{{- include "antrea.wrong" (set $wrong "rule" (printf "unknown feature gate; %s" $hint)) }}
{{- else if and $on (has $name $unavailable) }}
{{- include "antrea.wrong" (set $wrong "rule" "not available in this version; remove it or set it to false") }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Whether a gate is on, as the programs read featureGates: "true", else nothing. Of the gates, the name and its stage. */ -}}
{{- define "antrea.gateOn" -}}
{{- $gates := index . 0 }}
{{- $name := index . 1 }}
{{- $stage := index . 2 }}
{{- $all := printf "All%s" $stage }}
{{- if hasKey $gates $name }}{{ ternary "true" "" (get $gates $name) }}
{{- else if hasKey $gates $all }}{{ ternary "true" "" (get $gates $all) }}
{{- else if eq $stage "Beta" }}true{{ end }}
{{- end }}

{{- define "antrea.nodeIPAMOn" -}}
{{- if .Values.nodeIPAM.enable }}{{ include "antrea.gateOn" (list .Values.featureGates "NodeIPAM" "Beta") }}{{ end }}
{{- end }}

{{- /* The rules of NodeIPAM about its ranges, which are CIDRs. */ -}}
{{- define "antrea.nodeIPAM" -}}
{{- $cidrs := .Values.nodeIPAM.clusterCIDRs }}
{{- $on := include "antrea.nodeIPAMOn" . }}
{{- $families := dict }}
{{- range $cidrs }}
{{- $family := ternary "6" "4" (contains ":" .) }}
{{- if hasKey $families $family }}{{ $_ := set $families "twice" true }}
{{- else }}{{ $_ := set $families $family (regexFind "[0-9]+$" . | int) }}{{ end }}
{{- end }}
{{- if hasKey $families "twice" }}
{{- include "antrea.wrong" (dict "key" "nodeIPAM.clusterCIDRs" "value" $cidrs "rule" "must have at most one IPv4 and one IPv6 CIDR") }}
{{- end }}
{{- range $family, $key := dict "4" "nodeCIDRMaskSizeIPv4" "6" "nodeCIDRMaskSizeIPv6" }}
{{- if and $on (hasKey $families $family) }}
{{- $cluster := get $families $family }}
{{- $mask := get $.Values.nodeIPAM $key | int }}
{{- $wrong := dict "key" (printf "nodeIPAM.%s" $key) "value" $mask }}
{{- if lt $mask $cluster }}
{{- include "antrea.wrong" (set $wrong "rule" (printf "must be at least %d, the length of the cluster CIDR" $cluster)) }}
{{- else }}
{{- $bits := get (include "antrea.maxIndexBits" $ | fromJson) $family | int }}
{{- if gt $mask (add $cluster $bits | int) }}
{{- include "antrea.wrong" (set $wrong "rule" (printf "must be at most %d, %d more than the length of the cluster CIDR" (add $cluster $bits) $bits)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if $on }}
{{- $rule := "" }}
{{- range $cidr := $cidrs }}
{{- $cluster := include "antrea.prefixBits" $cidr }}
{{- range include "antrea.noPodCIDR" $ | splitList "\n" }}
{{- $special := splitList " " . | first }}
{{- if and (not $rule) (or (hasPrefix $special $cluster) (hasPrefix $cluster $special)) }}{{ $rule = trimPrefix (printf "%s " $special) . }}{{ end }}
{{- end }}
{{- end }}
{{- if $rule }}
{{- include "antrea.wrong" (dict "key" "nodeIPAM.clusterCIDRs" "value" $cidrs "rule" $rule) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The family of a CIDR and the bits of its prefix, such as 4:00001010 for 10.0.0.0/8. */ -}}
{{- define "antrea.prefixBits" -}}
{{- $address := regexReplaceAll "/.*$" . "" }}
{{- $length := regexFind "[0-9]+$" . | int }}
{{- $bits := "" }}
{{- if not (contains ":" .) }}
{{- range splitList "." $address }}{{ $bits = printf "%s%08b" $bits (int64 .) }}{{ end }}
{{- trunc (add 2 $length | int) (printf "4:%s" $bits) }}
{{- else }}
{{- $parts := list }}
{{- range $half := splitList "::" $address }}
{{- $groups := "" }}
{{- range splitList ":" $half }}
{{- if contains "." . }}{{ range splitList "." . }}{{ $groups = printf "%s%08b" $groups (int64 .) }}{{ end }}
{{- else if . }}{{ $groups = printf "%s%016b" $groups (printf "0x%s" . | int64) }}{{ end }}
{{- end }}
{{- $parts = append $parts $groups }}
{{- end }}
{{- $left := first $parts }}
{{- $right := join "" (rest $parts) }}
{{- $zeros := sub 128 (add (len $left) (len $right)) | int }}
{{- $bits = printf "%s%s%s" $left (repeat (max 0 $zeros | int) "0") $right }}
{{- trunc (add 2 $length | int) (printf "6:%s" $bits) }}
{{- end }}
{{- end }}

{{- /* What only the chart can know: how many programs there are, their command lines, and which ports all of them have; _validate-pods.tpl has more. */ -}}
{{- define "antrea.chartRules" -}}
{{- if and .Values.nodeIPAM.enable (eq (int .Values.controller.replicas) 0) }}
{{- include "antrea.wrong" (dict "key" "controller.replicas" "value" 0 "rule" "must be at least 1 with nodeIPAM.enable: antrea-controller gives Nodes their podCIDRs") }}
{{- end }}
{{- if include "antrea.ipamEnabled" . }}
{{- if eq (int .Values.controller.replicas) 0 }}
{{- include "antrea.wrong" (dict "key" "controller.replicas" "value" 0 "rule" "must be at least 1 with featureGates.AntreaIPAM: antrea-controller keeps account of IPPools") }}
{{- end }}
{{- if eq (int .Values.webhook.replicas) 0 }}
{{- include "antrea.wrong" (dict "key" "webhook.replicas" "value" 0 "rule" "must be at least 1 with featureGates.AntreaIPAM: no IPPool could be written without the webhook") }}
{{- end }}
{{- end }}
{{- $ports := dict "agent.apiPort" .Values.agent.apiPort "agent.probePort" .Values.agent.probePort "controller.apiPort" .Values.controller.apiPort "webhook.port" .Values.webhook.port "webhook.probePort" .Values.webhook.probePort }}
{{- $owners := dict }}
{{- range $key, $port := $ports }}
{{- $number := int $port | toString }}
{{- if hasKey $owners $number }}
{{- include "antrea.wrong" (dict "key" $key "value" (int $port) "rule" (printf "must differ from %s: both are of the Node" (get $owners $number))) }}
{{- else }}{{ $_ := set $owners $number $key }}{{ end }}
{{- if has $number (list "10248" "10250") }}
{{- include "antrea.wrong" (dict "key" $key "value" (int $port) "rule" "must not be a port of the Node's kubelet, 10248 or 10250") }}
{{- end }}
{{- end }}
{{- include "antrea.secondaryBridges" . }}
{{- $ofFile := dict "own" (list "config") "rule" "the known arguments are --config=FILE and --v=N, with N from 0 to 999" }}
{{- include "antrea.arguments" (merge (dict "key" "agent.antreaAgent.extraArgs" "value" .Values.agent.antreaAgent.extraArgs) $ofFile) }}
{{- include "antrea.arguments" (merge (dict "key" "controller.antreaController.extraArgs" "value" .Values.controller.antreaController.extraArgs) $ofFile) }}
{{- include "antrea.arguments" (dict "key" "webhook.antreaWebhook.extraArgs" "value" .Values.webhook.antreaWebhook.extraArgs "own" (list "config" "kube-apiserver" "kubeconfig" "port") "rule" "the known arguments are --config=FILE, --kube-apiserver=ADDRESS, --kubeconfig=FILE, --port=PORT and --v=N, with N from 0 to 999") }}
{{- end }}

{{- /*
The rules of the agent about secondaryNetwork.ovsBridges, in its words: no generated rule is about members that are maps.
They are not in values.schema.json, whose messages have neither value nor next step.
*/ -}}
{{- define "antrea.secondaryBridges" -}}
{{- $key := "secondaryNetwork.ovsBridges" }}
{{- $bridges := .Values.secondaryNetwork.ovsBridges }}
{{- $interface := "must be an interface name: 1 to 15 characters without / : and spaces" }}
{{- $own := "and none that the kernel, Open vSwitch or antrea-agent uses: lo, all, default, ovs-system, ovs-netdev, antrea-tun0" }}
{{- $match := `^[!-.0-9;-~]{1,15}$` }}
{{- $wrong := "" }}
{{- if gt (len $bridges) 1 }}
{{- $wrong = include "antrea.wrong" (dict "key" $key "value" $bridges "rule" "must be a list of at most 1 bridge; list all NICs in it") }}
{{- else }}
{{- range $index, $bridge := $bridges }}
{{- $at := printf "%s[%d]" $key $index }}
{{- $name := $bridge.bridgeName | default "" }}
{{- $wrong = print $wrong (include "antrea.text" (dict "key" (printf "%s.bridgeName" $at) "value" $name "rule" (printf "%s, %s" $interface $own) "match" $match "except" `^[.]{1,2}$|^(lo|all|default|ovs-system|ovs-netdev|antrea-tun0)$`)) }}
{{- $nics := $bridge.physicalInterfaces | default list }}
{{- $list := dict "key" (printf "%s.physicalInterfaces" $at) "value" $nics }}
{{- if or (empty $nics) (gt (len $nics) 8) }}
{{- $wrong = print $wrong (include "antrea.wrong" (set $list "rule" "must be a list of 1 to 8 interfaces; name the NICs to connect to the bridge")) }}
{{- else }}
{{- $wrong = print $wrong (include "antrea.list" (merge (dict "rule" $interface "test" "antrea.text" "match" $match "except" `^[.]{1,2}$`) $list)) }}
{{- end }}
{{- end }}
{{- end }}
{{- if $wrong }}{{ $wrong }}
{{- else }}
{{- range $bridges }}
{{- if eq .bridgeName (toString $.Values.ovs.bridgeName) }}
{{- include "antrea.wrong" (dict "key" $key "value" $bridges "rule" "must not name the bridge of ovs.bridgeName; choose another name") }}
{{- end }}
{{- $seen := list }}
{{- $twice := "" }}
{{- range .physicalInterfaces }}
{{- if and (has . $seen) (not $twice) }}{{ $twice = . }}{{ end }}
{{- $seen = append $seen . }}
{{- end }}
{{- if $twice }}
{{- include "antrea.wrong" (dict "key" $key "value" $bridges "rule" (printf "must not name the interface %s twice; remove one" $twice)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The arguments that a program understands, each by itself. */ -}}
{{- define "antrea.arguments" -}}
{{- $rule := . }}
{{- $match := printf "^--((%s)=.+|v=[0-9]{1,3})$" (join "|" .own) }}
{{- range $index, $argument := .value }}
{{- include "antrea.text" (dict "key" (printf "%s[%d]" $rule.key $index) "value" $argument "rule" $rule.rule "match" $match "except" "") }}
{{- end }}
{{- end }}

{{- /* The value at a dotted path as JSON; nothing where it is not given. */ -}}
{{- define "antrea.valueAt" -}}
{{- $value := .values }}
{{- $there := true }}
{{- range splitList "." .key }}
{{- if and $there (kindIs "map" $value) (hasKey $value .) }}{{ $value = get $value . }}{{ else }}{{ $there = false }}{{ end }}
{{- end }}
{{- if $there }}{{ toJson $value }}{{ end }}
{{- end }}

{{- define "antrea.unserved" -}}
{{- $given := include "antrea.valueAt" . }}
{{- if and $given (not (has $given .accepted)) }}
{{ printf "%s: %s: not available in this version; leave it out, or use %s\n" .key $given (first .accepted) }}
{{- end }}
{{- end }}

{{- define "antrea.noted" -}}
{{- if has (include "antrea.valueAt" .) .noted }}
  {{ .key }}: {{ include "antrea.valueAt" . }}
{{- end }}
{{- end }}
