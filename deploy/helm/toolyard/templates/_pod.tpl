{{/* The pod of both modes: the template of the StatefulSet and of the Deployment. */}}
{{- define "toolyard.pod" -}}
metadata:
  annotations:
    # A changed configuration starts new pods.
    checksum/config: {{ .Values.config | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "toolyard.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "toolyard.serviceAccountName" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  # The server exits at most 8 s after the time for running calls.
  terminationGracePeriodSeconds: {{ add .Values.preStopSeconds .Values.drainSeconds 10 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
  {{- else if eq .Values.mode "cluster" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "toolyard.selectorLabels" . | nindent 10 }}
  {{- end }}
  containers:
    - name: toolyard
      image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      ports:
        - name: http
          containerPort: 8787
      env:
        {{- include "toolyard.env" . | nindent 8 }}
      {{- with .Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      # A database is migrated before the server listens.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        timeoutSeconds: 5
        failureThreshold: 150
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- if .Values.preStopSeconds }}
      lifecycle:
        preStop:
          sleep:
            seconds: {{ .Values.preStopSeconds }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        # The working folder of the image, in which every command looks for toolyard.toml.
        - name: config
          mountPath: /etc/toolyard
          readOnly: true
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        {{- if .Values.existingSecret }}
        - name: root-key
          mountPath: /run/secrets/toolyard
          readOnly: true
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "toolyard.name" . }}
    - name: tmp
      emptyDir: {}
    {{- if eq .Values.mode "cluster" }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- if .Values.existingSecret }}
    - name: root-key
      secret:
        secretName: {{ .Values.existingSecret }}
        defaultMode: 0440
        items:
          - key: {{ .Values.secretKeys.rootKey }}
            path: root.key
    {{- end }}
{{- end -}}

{{/* Settings that the chart decides. They override the file. */}}
{{- define "toolyard.env" -}}
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: TOOLYARD_SERVER__LISTEN
  value: {{ ternary "[::]:8787" "0.0.0.0:8787" (eq .Values.cluster.ipFamily "IPv6") | quote }}
- name: TOOLYARD_SERVER__PUBLIC_URL
  value: {{ .Values.publicUrl | quote }}
- name: TOOLYARD_SERVER__HOSTS
  value: {{ include "toolyard.hosts" . | quote }}
- name: TOOLYARD_SERVER__DRAIN_MS
  value: {{ mul .Values.drainSeconds 1000 | quote }}
- name: TOOLYARD_AUTH__MODE
  value: token
{{- if eq .Values.mode "single" }}
- name: TOOLYARD_STORE__PATH
  value: /data/toolyard.db
{{- end }}
{{- if .Values.existingSecret }}
- name: TOOLYARD_AUTH__ROOT_KEY_FILE
  value: /run/secrets/toolyard/root.key
{{- end }}
{{- if eq .Values.mode "cluster" }}
- name: TOOLYARD_STORE__URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.existingSecret }}
      key: {{ .Values.secretKeys.databaseUrl }}
- name: TOOLYARD_CLUSTER__NATS_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.existingSecret }}
      key: {{ .Values.secretKeys.natsUrl }}
- name: TOOLYARD_CLUSTER__ADVERTISE_URL
  value: {{ printf "http://%s:8787" (include "toolyard.podHost" .) | quote }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}
