{{- define "strata.name" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) }}
{{- $name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "strata.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "strata.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "strata.selector" . }}
{{- end }}

{{- define "strata.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "strata.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "strata.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* What cannot work is refused before anything is installed. */ -}}
{{- define "strata.check" -}}
{{- if and (eq .Values.store "mongodb") (not .Values.mongodb.existingSecret) }}
{{- fail "store is mongodb: set mongodb.existingSecret to the secret that holds the connection string" }}
{{- end }}
{{- if and (eq .Values.store "sqlite") .Values.autoscaling.enabled }}
{{- fail "store is sqlite, whose file one server holds: autoscaling needs store mongodb" }}
{{- end }}
{{- range $key := list "data" "mongodb-uri" "listen" "metrics-listen" "auth" "insecure" "bootstrap-key" "tls-cert" "tls-key" "drain-timeout" }}
{{- if hasKey $.Values.config $key }}
{{- fail (printf "config.%s is set by the chart: see values.yaml" $key) }}
{{- end }}
{{- end }}
{{- range $key := list "chat-api-key" "embedding-api-key" "rerank-api-key" "milvus-password" "milvus-token" "elasticsearch-password" "elasticsearch-api-key" }}
{{- if hasKey $.Values.config $key }}
{{- fail (printf "config.%s is a secret and would stand in a ConfigMap: name a secret with %s in envFromSecrets" $key (printf "STRATA_%s" ($key | upper | replace "-" "_"))) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "strata.env" -}}
- name: STRATA_CONFIG
  value: /etc/strata/strata.yaml
{{- if eq .Values.store "mongodb" }}
- name: STRATA_MONGODB_URI
  valueFrom:
    secretKeyRef: {name: {{ .Values.mongodb.existingSecret | quote }}, key: {{ .Values.mongodb.uriKey | quote }}}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "strata.envFrom" -}}
{{- range .Values.envFromSecrets }}
- secretRef: {name: {{ . | quote }}}
{{- end }}
{{- end }}

{{- define "strata.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "strata.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* The pod of a server: of the Deployment over MongoDB and of the StatefulSet over a file. */ -}}
{{- define "strata.pod" -}}
metadata:
  labels:
    {{- include "strata.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    checksum/config: {{ include "strata.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "strata.serviceAccount" . }}
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: {{ add .Values.drainTimeoutSeconds 20 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext: {{ include "strata.podSecurity" . | nindent 4 }}
  containers:
    - name: strata
      image: {{ include "strata.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env: {{ include "strata.env" . | nindent 8 }}
      {{- if .Values.envFromSecrets }}
      envFrom: {{ include "strata.envFrom" . | nindent 8 }}
      {{- end }}
      ports:
        - {name: grpc, containerPort: 8081}
        - {name: metrics, containerPort: 9464}
      {{- $scheme := ternary "HTTPS" "HTTP" (ne .Values.tls.existingSecret "") }}
      startupProbe:
        # Migrations and the replay of the erasure ledger come before the port is open.
        httpGet: {path: /healthz, port: grpc, scheme: {{ $scheme }}}
        periodSeconds: 5
        failureThreshold: 120
      livenessProbe:
        httpGet: {path: /healthz, port: grpc, scheme: {{ $scheme }}}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: grpc, scheme: {{ $scheme }}}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        # Balancers need a moment to send no more calls here. The image has no shell.
        preStop:
          sleep: {seconds: 5}
      securityContext: {{ include "strata.containerSecurity" . | nindent 8 }}
      resources: {{ toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/strata, readOnly: true}
        - {name: tmp, mountPath: /tmp}
        {{- if eq .Values.store "sqlite" }}
        - {name: data, mountPath: /data}
        {{- end }}
        {{- if .Values.tls.existingSecret }}
        - {name: tls, mountPath: /etc/strata-tls, readOnly: true}
        {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ include "strata.name" . }}}
    - name: tmp
      emptyDir: {}
    {{- if .Values.tls.existingSecret }}
    - name: tls
      secret: {secretName: {{ .Values.tls.existingSecret | quote }}}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- with .Values.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{ include "strata.selector" . | nindent 10 }}
    {{- end }}
{{- end }}

{{- /* The file of settings: what the chart sets, and config. */ -}}
{{- define "strata.config" -}}
{{- $own := dict "listen" "0.0.0.0:8081" "metrics-listen" "0.0.0.0:9464" "log-format" "json" "insecure" true
  "auth" (ternary "required" "none" .Values.auth.required) "drain-timeout" (printf "%ds" (int .Values.drainTimeoutSeconds)) }}
{{- if and .Values.auth.required .Values.auth.bootstrapKey }}{{ $_ := set $own "bootstrap-key" true }}{{ end }}
{{- if eq .Values.store "sqlite" }}{{ $_ := set $own "data" "/data/strata.db" }}{{ end }}
{{- if .Values.tls.existingSecret }}{{ $_ := set $own "tls-cert" "/etc/strata-tls/tls.crt" }}{{ $_ := set $own "tls-key" "/etc/strata-tls/tls.key" }}{{ end }}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $own) }}
{{- end }}
