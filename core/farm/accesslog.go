package farm

import "slices"

// AccessLog says how the exchanges of a farm are logged, the connections of an
// l4xnat farm in userspace, or the questions to a gslb farm; valid with its Logs.
// The zero value logs every exchange as a JSON line to a file that is named
// after the farm.
type AccessLog struct {
	Format LogFormat `json:"format,omitempty"`
	// Fields are what a JSON line shows, and what follows a combined one as
	// name=value, in this order; none means what DefaultLogFields says.
	Fields []LogField `json:"fields,omitempty"`
	// Headers are names of request headers that are logged, at most MaxLogHeaders.
	Headers []string `json:"headers,omitempty"`
	// Sample logs one in that many exchanges, by chance; 0 and 1 log all.
	Sample uint32 `json:"sample,omitempty"`
	// Redact are names of headers and of query parameters whose values are not
	// shown, whatever their case; none means what DefaultRedact says.
	Redact []string `json:"redact,omitempty"`
	Sink   LogSink  `json:"sink,omitempty"`
	// File is the name of the log, without its ending, in the log folder of the
	// data directory; empty is that of the farm. Valid with LogFile.
	File string `json:"file,omitempty"`
	// Size is how many MiB the file may have before another one is begun, Keep
	// how many older ones are kept; 0 means the defaults.
	Size uint32 `json:"size,omitempty"`
	Keep uint32 `json:"keep,omitempty"`
	// Target is where LogSyslog sends to, as udp://host:port, tcp://host:port or
	// unix:///path; empty is DefaultLogTarget.
	Target string `json:"target,omitempty"`
}

// Defaults of an AccessLog.
const (
	DefaultLogSize   uint32 = 100
	DefaultLogKeep   uint32 = 7
	DefaultLogTarget        = "unix:///dev/log"
	// MaxLogHeaders is how many request headers an access log may show.
	MaxLogHeaders = 8
)

func (l AccessLog) clone() AccessLog {
	l.Fields, l.Headers, l.Redact = slices.Clone(l.Fields), slices.Clone(l.Headers), slices.Clone(l.Redact)
	return l
}

// ConnectionLogFields are the fields that connections have; the others are of
// requests.
func ConnectionLogFields() []LogField {
	return []LogField{LogTime, LogFarm, LogBackend, LogClient, LogClientPort, LogProtocol, LogBytesIn, LogBytesOut,
		LogConnect, LogTotal, LogFlags, LogRejection, LogReason, LogTries, LogLoop, LogDecision}
}

// QueryLogFields are the fields that questions to gslb farms have.
func QueryLogFields() []LogField {
	return []LogField{LogTime, LogFarm, LogClient, LogClientPort, LogName, LogType, LogProtocol, LogRcode, LogService, LogBackend,
		LogBytesIn, LogBytesOut, LogFlags, LogReason, LogLoop}
}

// EveryLogField lists the fields of requests, connections and questions.
func EveryLogField() []LogField { return append(LogFields(), LogName, LogType, LogRcode) }

// LogFormat says what a line of an access log looks like.
type LogFormat string

// The formats; the zero value acts as LogJSON.
const (
	LogJSON     LogFormat = "json"     // an object
	LogCombined LogFormat = "combined" // as Apache's combined log
)

// LogFormats lists the formats.
func LogFormats() []LogFormat { return []LogFormat{LogJSON, LogCombined} }

// LogSink says where an access log goes to.
type LogSink string

// The sinks; the zero value acts as LogFile.
const (
	LogFile   LogSink = "file"
	LogSyslog LogSink = "syslog"
	LogStdout LogSink = "stdout"
)

// LogSinks lists the sinks.
func LogSinks() []LogSink { return []LogSink{LogFile, LogSyslog, LogStdout} }

// LogField is something an access log can show of an exchange.
type LogField string

// ParseLogField returns the field of that name, or of a name it had before.
func ParseLogField(name string) LogField {
	if name == "refusal" {
		return LogRejection
	}
	return LogField(name)
}

// UnmarshalText reads what stored revisions hold, as ParseLogField does.
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
	LogClient     LogField = "client"      // address; behind a trusted peer that of who it speaks for
	LogClientPort LogField = "client_port" // port
	LogMethod     LogField = "method"
	LogHost       LogField = "host"     // canonical
	LogPath       LogField = "path"     // with its query, as the client sent it or the farm's path_policy has it
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
	LogRejection  LogField = "rejection" // class of what was refused
	LogReason     LogField = "reason"    // why it was refused or failed
	LogTries      LogField = "tries"
	LogLoop       LogField = "loop"
	LogDecision   LogField = "decision" // how the backend was found: algorithm, session, cookie or pin
	LogTLSVersion LogField = "tls_version"
	LogTLSCipher  LogField = "tls_cipher"
	LogAgent      LogField = "user_agent"
	LogReferer    LogField = "referer"
	// Of questions.
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

// DefaultLogFields are the fields an access log of that format shows when none
// were chosen.
func DefaultLogFields(format LogFormat) []LogField {
	if format == LogCombined {
		return nil
	}
	return []LogField{LogTime, LogFarm, LogService, LogBackend, LogClient, LogMethod, LogHost, LogPath, LogProtocol, LogStatus,
		LogBytesIn, LogBytesOut, LogConnect, LogResponse, LogTotal, LogRequestID, LogFlags, LogRejection, LogReason, LogTLSVersion, LogTLSCipher,
		LogAgent, LogReferer}
}

// ShownFields are the fields the access log shows.
func (l *AccessLog) ShownFields() []LogField {
	if len(l.Fields) == 0 {
		return DefaultLogFields(l.Format)
	}
	return l.Fields
}

// DefaultRedact are the headers and query parameters no access log shows when
// no others were named: what lets its owner in.
func DefaultRedact() []string {
	return []string{"authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key",
		"access_token", "api_key", "apikey", "auth", "client_secret", "id_token", "jsessionid", "key", "passwd", "password", "pwd",
		"refresh_token", "secret", "session", "sessionid", "sig", "signature", "token"}
}

// RequestID says who gets the id of a request, in the header X-Request-Id. A
// valid one that a trusted peer sends is kept, else a new one is made.
type RequestID string

// Who gets it; the zero value gives it to backends if, and only if, the access
// log of the farm shows it.
const (
	RequestIDAuto    RequestID = ""
	RequestIDOff     RequestID = "off"
	RequestIDBackend RequestID = "backend"
	RequestIDBoth    RequestID = "both" // the client, too
)

// RequestIDs lists who may get it.
func RequestIDs() []RequestID {
	return []RequestID{RequestIDAuto, RequestIDOff, RequestIDBackend, RequestIDBoth}
}

// RequestIDMode is what RequestID comes to: off, backend or both.
func (h *HTTP) RequestIDMode() RequestID {
	switch {
	case h.RequestID != RequestIDAuto:
		return h.RequestID
	case h.Logs && slices.Contains(h.AccessLog.ShownFields(), LogRequestID):
		return RequestIDBackend
	}
	return RequestIDOff
}
