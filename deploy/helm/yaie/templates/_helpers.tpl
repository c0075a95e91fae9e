{{- define "yaie.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "yaie.selector" -}}
app.kubernetes.io/name: yaie
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "yaie.labels" -}}
{{ include "yaie.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "yaie.cacheClaim" -}}
{{- .Values.claims.cache.existingClaim | default (printf "%s-cache" (include "yaie.name" .)) -}}
{{- end -}}

{{- define "yaie.batchesClaim" -}}
{{- .Values.claims.batches.existingClaim | default (printf "%s-batches" (include "yaie.name" .)) -}}
{{- end -}}

{{- /* A second pod on another node cannot mount a ReadWriteOnce claim, and the update would never end. */ -}}
{{- define "yaie.strategy" -}}
{{- $cache := .Values.claims.cache -}}
{{- $isShared := has "ReadWriteMany" $cache.accessModes -}}
{{- if .Values.strategy -}}
{{- toYaml .Values.strategy -}}
{{- else if or .Values.claims.batches.enabled (and $cache.enabled (not $isShared)) -}}
type: RollingUpdate
rollingUpdate: {maxSurge: 0, maxUnavailable: 1}
{{- else -}}
type: RollingUpdate
rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
{{- end -}}
{{- end -}}

{{- define "yaie.scheme" -}}
{{- if .Values.tls.secretName }}HTTPS{{ else }}HTTP{{ end -}}
{{- end -}}

{{- define "yaie.metricsPort" -}}
{{- if .Values.metrics.port }}metrics{{ else }}http{{ end -}}
{{- end -}}

{{- /* Errors that the schema cannot express. */ -}}
{{- define "yaie.check" -}}
{{- $several := or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) -}}
{{- $cache := .Values.claims.cache -}}
{{- if and $several $cache.enabled (not $cache.existingClaim) (not (has "ReadWriteMany" $cache.accessModes)) -}}
{{- fail "claims.cache: several replicas cannot share a ReadWriteOnce claim; set claims.cache.accessModes to [ReadWriteMany], or claims.cache.enabled to false" -}}
{{- end -}}
{{- if and $several .Values.claims.batches.enabled -}}
{{- fail "claims.batches: one server uses a folder of batches; set replicas to 1 without autoscaling, or claims.batches.enabled to false" -}}
{{- end -}}
{{- range $name := list "host" "port" "batch_dir" "drain_s" "metrics_port" "metrics_compat" "ssl_certfile" "ssl_keyfile" "kv_events" "kv_events_replay" "kv_events_topic" "kv_events_config" "api_key" "admin_key" "tool_key" -}}
{{- if hasKey $.Values.settings $name -}}
{{- fail (printf "settings.%s: the chart sets it; use the value of the chart, or the Secret keys.secretName for keys" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
