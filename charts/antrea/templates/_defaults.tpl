{{- /* Generated from values.yaml by make generate. */ -}}
{{- define "antrea.defaults" -}}
featureGates: {}
trafficEncapMode: encap
noSNAT: false
snatFullyRandomPorts: false
tunnelType: geneve
tunnelPort: 0
tunnelCsum: false
defaultMTU: 0
transportInterface: ""
transportInterfaceCIDRs: []
serviceCIDR: ""
serviceCIDRv6: ""
enableBridgingMode: false
uplink:
  checkTimeout: 15s
hostGateway: antrea-gw0
disableTXChecksumOffload: false
kubeAPIServerOverride: ""
logVerbosity: 0
tlsCipherSuites: ""
tlsMinVersion: ""
ovs:
  bridgeName: br-int
  datapathType: system
nodeIPAM:
  enable: false
  clusterCIDRs: []
  serviceCIDR: ""
  serviceCIDRv6: ""
  nodeCIDRMaskSizeIPv4: 24
  nodeCIDRMaskSizeIPv6: 64
ipam:
  cooldown: 30s
  cleanInterval: 60s
antreaProxy:
  enable: true
  proxyAll: false
  proxyLoadBalancerIPs: true
  nodePortAddresses: []
  skipServices: []
  serviceProxyName: ""
  defaultLoadBalancerMode: nat
  disableServiceHealthCheckServer: false
  serviceHealthCheckServerBindAddress: 0.0.0.0:10256
secondaryNetwork:
  ovsBridges: []
cni:
  version: 1.0.0
  hostBinPath: /opt/cni/bin
  hostConfPath: /etc/cni/net.d
  configFileMode: "644"
  skipBinaries: []
  plugins:
    portmap: true
    bandwidth: true
agentImage:
  repository: antrea/antrea-agent
  pullPolicy: IfNotPresent
  tag: ""
controllerImage:
  repository: antrea/antrea-controller
  pullPolicy: IfNotPresent
  tag: ""
webhookImage:
  repository: antrea/antrea-webhook
  pullPolicy: IfNotPresent
  tag: ""
agent:
  apiPort: 10350
  probePort: 10353
  dontLoadKernelModules: false
  podResourcesPath: /var/lib/kubelet/pod-resources
  enablePrometheusMetrics: true
  dnsPolicy: ""
  extraVolumes: []
  priorityClassName: system-node-critical
  nodeSelector:
    kubernetes.io/os: linux
    kubernetes.io/arch: amd64
  tolerations:
    - key: CriticalAddonsOnly
      operator: Exists
    - effect: NoSchedule
      operator: Exists
    - effect: NoExecute
      operator: Exists
  affinity: {}
  podAnnotations: {}
  podLabels: {}
  updateStrategy:
    type: RollingUpdate
  installCNI:
    extraEnv: {}
    resources:
      requests:
        cpu: 100m
  antreaAgent:
    extraArgs: []
    extraVolumeMounts: []
    extraEnv: {}
    resources:
      requests:
        cpu: 200m
  antreaOVS:
    extraEnv: {}
    securityContext:
      privileged: false
      capabilities:
        - SYS_NICE
        - NET_ADMIN
        - SYS_ADMIN
        - IPC_LOCK
    resources:
      requests:
        cpu: 200m
controller:
  replicas: 1
  apiPort: 10349
  selfSignedCert: true
  enablePrometheusMetrics: true
  priorityClassName: system-cluster-critical
  nodeSelector:
    kubernetes.io/os: linux
    kubernetes.io/arch: amd64
  tolerations:
    - key: CriticalAddonsOnly
      operator: Exists
    - key: node-role.kubernetes.io/master
      operator: Exists
      effect: NoSchedule
    - key: node-role.kubernetes.io/control-plane
      operator: Exists
      effect: NoSchedule
    - key: node.kubernetes.io/not-ready
      operator: Exists
      effect: NoSchedule
    - key: node.kubernetes.io/unreachable
      operator: Exists
      effect: NoExecute
      tolerationSeconds: 0
  affinity: {}
  podAnnotations: {}
  podLabels: {}
  antreaController:
    extraArgs: []
    extraEnv: {}
    resources:
      requests:
        cpu: 200m
        memory: 100Mi
webhook:
  replicas: 2
  port: 9443
  probePort: 10355
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 0
      maxUnavailable: 1
  priorityClassName: system-cluster-critical
  nodeSelector:
    kubernetes.io/os: linux
    kubernetes.io/arch: amd64
  tolerations:
    - key: CriticalAddonsOnly
      operator: Exists
    - key: node-role.kubernetes.io/master
      operator: Exists
      effect: NoSchedule
    - key: node-role.kubernetes.io/control-plane
      operator: Exists
      effect: NoSchedule
    - key: node.kubernetes.io/not-ready
      operator: Exists
      effect: NoSchedule
    - key: node.kubernetes.io/unreachable
      operator: Exists
      effect: NoExecute
      tolerationSeconds: 0
  affinity: {}
  podAnnotations: {}
  podLabels: {}
  antreaWebhook:
    extraArgs: []
    extraEnv: {}
    resources:
      requests:
        cpu: 50m
        memory: 80Mi
{{- end }}

{{- define "antrea.sections" -}}["uplink","ovs","nodeIPAM","ipam","antreaProxy","secondaryNetwork","cni","cni.plugins","agentImage","controllerImage","webhookImage","agent","agent.installCNI","agent.antreaAgent","agent.antreaOVS","agent.antreaOVS.securityContext","controller","controller.antreaController","webhook","webhook.antreaWebhook"]{{- end }}
