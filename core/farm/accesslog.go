package farm

import "slices"

// AccessLog configures the access log of a farm: exchanges, connections of an l4xnat farm in
// userspace, or queries to a gslb farm. It is used if Logs is set. The zero value logs every
// exchange as a JSON line to a file named after the farm.
type AccessLog struct {
	Format LogFormat `json:"format,omitempty"`
	// Fields lists the fields of a JSON line, or those appended to a combined line as
	// name=value, in this order. Empty means DefaultLogFields.
	Fields []LogField `json:"fields,omitempty"`
	// Headers lists the logged request headers, at most MaxLogHeaders.
	Headers []string `json:"headers,omitempty"`
	// Sample logs one in that many exchanges at random; 0 and 1 log all.
	Sample uint32 `json:"sample,omitempty"`
	// Redact lists headers and query parameters whose values are hidden, ignoring case.
	// Empty means DefaultRedact.
	Redact []string `json:"redact,omitempty"`
	Sink   LogSink  `json:"sink,omitempty"`
	// File is the name of the log without extension, in the log folder of the data
	// directory; empty means the farm's name. Valid with LogFile.
	File string `json:"file,omitempty"`
	// Size is the maximum size of the file in MiB before a new one is begun, Keep the number
	// of older files kept; 0 means the defaults.
	Size uint32 `json:"size,omitempty"`
	Keep uint32 `json:"keep,omitempty"`
	// Target is the destination of LogSyslog, as udp://host:port, tcp://host:port or
	// unix:///path; empty means DefaultLogTarget.
	Target string `json:"target,omitempty"`
}

// Defaults of an AccessLog.
const (
	DefaultLogSize   uint32 = 100
	DefaultLogKeep   uint32 = 7
	DefaultLogTarget        = "unix:///dev/log"
	// MaxLogHeaders is the maximum number of request headers in an access log.
	MaxLogHeaders = 8
)

func (l AccessLog) clone() AccessLog {
	l.Fields, l.Headers, l.Redact = slices.Clone(l.Fields), slices.Clone(l.Headers), slices.Clone(l.Redact)
	return l
}

// ConnectionLogFields returns the fields of connections; the others are of requests.
func ConnectionLogFields() []LogField {
	return []LogField{LogTime, LogFarm, LogBackend, LogClient, LogClientPort, LogProtocol, LogBytesIn, LogBytesOut,
		LogConnect, LogTotal, LogFlags, LogRejection, LogReason, LogTries, LogLoop, LogDecision}
}

// QueryLogFields returns the fields of queries to gslb farms.
func QueryLogFields() []LogField {
	return []LogField{LogTime, LogFarm, LogClient, LogClientPort, LogName, LogType, LogProtocol, LogRcode, LogService, LogBackend,
		LogBytesIn, LogBytesOut, LogFlags, LogReason, LogLoop}
}

// EveryLogField returns the fields of requests, connections and queries.
func EveryLogField() []LogField { return append(LogFields(), LogName, LogType, LogRcode) }

// LogFormat is the format of an access log line.
type LogFormat string

// The formats; the zero value acts as LogJSON.
const (
	LogJSON     LogFormat = "json"     // an object
	LogCombined LogFormat = "combined" // like Apache's combined log
)

// LogFormats lists the formats.
func LogFormats() []LogFormat { return []LogFormat{LogJSON, LogCombined} }

// LogSink is the destination of an access log.
type LogSink string

// The sinks; the zero value acts as LogFile.
const (
	LogFile   LogSink = "file"
	LogSyslog LogSink = "syslog"
	LogStdout LogSink = "stdout"
)

// LogSinks lists the sinks.
func LogSinks() []LogSink { return []LogSink{LogFile, LogSyslog, LogStdout} }

// LogField is a field of an access log.
type LogField string

// ParseLogField returns the field of that current or former name.
func ParseLogField(name string) LogField {
	if name == "refusal" {
		return LogRejection
	}
	return LogField(name)
}

// UnmarshalText reads a field of a stored revision, as ParseLogField does.
func (f *LogField) UnmarshalText(b []byte) error {
	*f = ParseLogField(string(b))
	return nil
}

// The fields. Times of day are UTC, durations microseconds.
const (
	LogTime       LogField = "time"        // when the request head was complete
	LogFarm       LogField = "farm"        // name
	LogService    LogField = "service"     // name
	LogBackend    LogField = "backend"     // address and port
	LogClient     LogField = "client"      // address; of the original client if the peer is trusted
	LogClientPort LogField = "client_port" // port
	LogMethod     LogField = "method"
	LogHost       LogField = "host"     // canonical
	LogPath       LogField = "path"     // with query, as sent or by the farm's path_policy
	LogProtocol   LogField = "protocol" // HTTP/1.0, HTTP/1.1, HTTP/2.0, TCP or UDP
	LogStatus     LogField = "status"
	LogBytesIn    LogField = "bytes_in"  // from the client
	LogBytesOut   LogField = "bytes_out" // to the client
	LogQueue      LogField = "queue_us"
	LogConnect    LogField = "connect_us"
	LogResponse   LogField = "response_us"
	LogFirstByte  LogField = "first_byte_us"
	LogTotal      LogField = "total_us"
	LogRequestID  LogField = "request_id"
	LogFlags      LogField = "flags"
	LogRejection  LogField = "rejection" // class of the rejection
	LogReason     LogField = "reason"    // reason of a rejection or failure
	LogTries      LogField = "tries"
	LogLoop       LogField = "loop"
	LogDecision   LogField = "decision" // how the backend was chosen: algorithm, session, cookie or pin
	LogTLSVersion LogField = "tls_version"
	LogTLSCipher  LogField = "tls_cipher"
	LogAgent      LogField = "user_agent"
	LogReferer    LogField = "referer"
	// Of queries.
	LogName  LogField = "name"
	LogType  LogField = "type"
	LogRcode LogField = "rcode"
)

// LogFields lists the fields of requests.
func LogFields() []LogField {
	return []LogField{LogTime, LogFarm, LogService, LogBackend, LogClient, LogClientPort, LogMethod, LogHost, LogPath, LogProtocol,
		LogStatus, LogBytesIn, LogBytesOut, LogQueue, LogConnect, LogResponse, LogFirstByte, LogTotal, LogRequestID, LogFlags,
		LogRejection, LogReason, LogTries, LogLoop, LogDecision, LogTLSVersion, LogTLSCipher, LogAgent, LogReferer}
}

// DefaultLogFields returns the default fields of that format.
func DefaultLogFields(format LogFormat) []LogField {
	if format == LogCombined {
		return nil
	}
	return []LogField{LogTime, LogFarm, LogService, LogBackend, LogClient, LogMethod, LogHost, LogPath, LogProtocol, LogStatus,
		LogBytesIn, LogBytesOut, LogConnect, LogResponse, LogTotal, LogRequestID, LogFlags, LogRejection, LogReason, LogTLSVersion, LogTLSCipher,
		LogAgent, LogReferer}
}

// ShownFields returns the fields of the access log.
func (l *AccessLog) ShownFields() []LogField {
	if len(l.Fields) == 0 {
		return DefaultLogFields(l.Format)
	}
	return l.Fields
}

// DefaultRedact returns the headers and query parameters hidden by default: credentials.
func DefaultRedact() []string {
	return []string{"authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key",
		"access_token", "api_key", "apikey", "auth", "client_secret", "id_token", "jsessionid", "key", "passwd", "password", "pwd",
		"refresh_token", "secret", "session", "sessionid", "sig", "signature", "token"}
}

// RequestID decides who receives the request id in the header X-Request-Id. A valid id from
// a trusted peer is kept, otherwise a new one is generated.
type RequestID string

// The recipients. The zero value means backends if the farm's access log contains the id,
// otherwise none.
const (
	RequestIDAuto    RequestID = ""
	RequestIDOff     RequestID = "off"
	RequestIDBackend RequestID = "backend"
	RequestIDBoth    RequestID = "both" // and the client
)

// RequestIDs lists the recipients.
func RequestIDs() []RequestID {
	return []RequestID{RequestIDAuto, RequestIDOff, RequestIDBackend, RequestIDBoth}
}

// RequestIDMode returns the effective RequestID: off, backend or both.
func (h *HTTP) RequestIDMode() RequestID {
	switch {
	case h.RequestID != RequestIDAuto:
		return h.RequestID
	case h.Logs && slices.Contains(h.AccessLog.ShownFields(), LogRequestID):
		return RequestIDBackend
	}
	return RequestIDOff
}
