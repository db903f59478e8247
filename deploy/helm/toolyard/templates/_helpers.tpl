{{- define "toolyard.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "toolyard.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "toolyard.labels" -}}
{{ include "toolyard.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "toolyard.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "toolyard.name" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The host of the public URL. */}}
{{- define "toolyard.publicHost" -}}
{{- (urlParse .Values.publicUrl).hostname -}}
{{- end -}}

{{/* The address of a pod as it is written in a URL. Kubernetes replaces the variable. */}}
{{- define "toolyard.podHost" -}}
{{- if eq .Values.cluster.ipFamily "IPv6" -}}[$(POD_IP)]{{- else -}}$(POD_IP){{- end -}}
{{- end -}}

{{/* Hosts that the server accepts besides that of the public URL: probes and Prometheus use the address of the pod. */}}
{{- define "toolyard.hosts" -}}
{{- $name := include "toolyard.name" . -}}
{{- $service := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) -}}
{{- concat (list (include "toolyard.podHost" .) "localhost" "127.0.0.1") $service .Values.extraHosts | toJson -}}
{{- end -}}

{{/* Combinations of values that would not work. The schema checks single values. */}}
{{- define "toolyard.validate" -}}
{{- if not .Values.publicUrl -}}
{{- fail "publicUrl is required, such as https://tools.example.com" -}}
{{- end -}}
{{- if and (eq .Values.mode "single") (ne (int .Values.replicas) 1) -}}
{{- fail "replicas must be 1 in single mode: only one server can use the database file. For more servers set mode to cluster" -}}
{{- end -}}
{{- if and (eq .Values.mode "single") .Values.autoscaling.enabled -}}
{{- fail "autoscaling requires mode cluster" -}}
{{- end -}}
{{- if and (eq .Values.mode "cluster") (not .Values.existingSecret) -}}
{{- fail (printf "existingSecret is required in cluster mode: a Secret with the keys %s, %s and %s" .Values.secretKeys.rootKey .Values.secretKeys.databaseUrl .Values.secretKeys.natsUrl) -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.tokenSecret.name) -}}
{{- fail "serviceMonitor.tokenSecret.name is required: /metrics needs the token of an operator" -}}
{{- end -}}
{{- end -}}
