package validate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/syslog"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// Limits of access logs.
const (
	// MaxLogSample is the sparsest sampling: one in that many.
	MaxLogSample = 1_000_000
	// MaxLogSize is the maximum file size in MiB, MaxLogCount the maximum number of files
	// kept.
	MaxLogSize, MaxLogCount = 10 << 10, 1000
	// MaxRedact bounds the number of masked names.
	MaxRedact = 256
)

// logFilePattern matches a file of the log folder. No match leads elsewhere or equals a
// rotated file.
var logFilePattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]*$`)

// logFields are the fields of access logs. The field logs itself is among settings.
var logFields = slices.Concat(logContents, sinkFields(httpPart,
	func(h *farm.HTTP) *farm.AccessLog { return &h.AccessLog }), requestID)

// logContents are the fields that define the content of a line.
var logContents = []field.Field[farm.Farm]{
	choice("log_format", field.Basic(field.AtLogging, "Line format"), "Format of an access log line: a JSON object or Apache's combined log format.", farm.LogFormats(), farm.LogJSON, nil,
		func(h *farm.HTTP) *farm.LogFormat { return &h.AccessLog.Format }),
	logFieldsIn(httpPart, "Fields of a log line in order, appended to the line with log_format combined; none means the default fields.", farm.LogFields(),
		func(h *farm.HTTP) *farm.AccessLog { return &h.AccessLog }),
	logNames("log_headers", field.Advanced(field.AtLogging, "Logged headers"), "Request headers to log.", farm.MaxLogHeaders, nil, func(l *farm.AccessLog) *[]string { return &l.Headers }),
	bound("log_sample", field.Advanced(field.AtLogging, "Sampling"), "Log one of every N requests, chosen at random.", 1, MaxLogSample, 1, func(h *farm.HTTP) *uint32 { return &h.AccessLog.Sample }),
	logNames("log_redact", field.Advanced(field.AtLogging, "Masked names"), "Headers and query parameters whose values are masked in the log.", MaxRedact, farm.DefaultRedact(), func(l *farm.AccessLog) *[]string { return &l.Redact }),
}

var requestID = []field.Field[farm.Farm]{
	{
		Rule: field.Rule{Name: "requestid", Hints: field.Advanced(field.AtLogging, "Request ID"), Kind: field.Text, Values: field.Texts(farm.RequestIDs()), Null: true, Normalize: map[string]string{"auto": ""},
			About: "Recipients of the request ID in X-Request-Id: off (none), backend, or both (backend and client); empty sends it to the backend if the access log includes it."},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(string(httpSeen(f).RequestID)) },
		Set: func(f *farm.Farm, v field.Value) { httpOf(f).RequestID = farm.RequestID(v.Text()) },
	},
}

// logNames returns a field that lists header or parameter names. Its zero value means
// unset.
func logNames(name string, h field.Hints, about string, most int64, unset []string,
	at func(*farm.AccessLog) *[]string) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.List, Words: true, Null: true, Max: most, MaxLen: 64,
			Pattern: format.Token, Key: strings.ToLower, Unset: field.ListValue(unset),
			Must: "the name of a header or parameter", MustList: fmt.Sprintf("a list of at most %d names", most), Format: "name", About: about},
		Get: func(f *farm.Farm) field.Value {
			if l := *at(&httpSeen(f).AccessLog); len(l) > 0 {
				return field.ListValue(l)
			}
			return field.ListValue(unset)
		},
		Set: func(f *farm.Farm, v field.Value) {
			l := at(&httpOf(f).AccessLog)
			if *l = slices.Clone(v.List()); slices.Equal(*l, unset) || len(*l) == 0 {
				*l = nil
			}
		},
	}
}

// logFieldsIn returns the field that selects the contents of a log line.
func logFieldsIn[T any](p part[T], about string, words []farm.LogField,
	at func(*T) *farm.AccessLog) field.Field[farm.Farm] {
	names := strings.Join(field.Texts(words), ", ")
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: "log_fields", Hints: field.Advanced(field.AtLogging, "Logged fields"), Kind: field.List, Words: true, Null: true, Max: int64(len(words)), Format: "name of a field",
			Key: func(s string) string { return string(farm.ParseLogField(s)) },
			Check: func(s string) string {
				if slices.Contains(words, farm.ParseLogField(s)) {
					return ""
				}
				return "there is no such field"
			},
			Must: "one of " + names, MustList: "a list of fields: " + names, About: about + " Available: " + names + "."},
		Get: func(f *farm.Farm) field.Value { return field.ListValue(field.Texts(at(p.seen(f)).Fields)) },
		Set: func(f *farm.Farm, v field.Value) {
			l := at(p.of(f))
			l.Fields = nil
			for _, name := range v.List() {
				l.Fields = append(l.Fields, farm.ParseLogField(name))
			}
		},
	}
}

// sinkFields are the fields that define the destination of log lines.
func sinkFields[T any](p part[T], at func(*T) *farm.AccessLog) []field.Field[farm.Farm] {
	return []field.Field[farm.Farm]{
		choiceIn(p, "log_sink", field.Basic(field.AtLogging, "Destination"), "Destination of the access log.", farm.LogSinks(), farm.LogFile, nil, func(t *T) *farm.LogSink { return &at(t).Sink }),
		{
			Rule: field.Rule{Name: "log_file", Hints: field.Advanced(field.AtLogging, "File"), Kind: field.Text, Blank: true, MaxLen: format.MaxName, Pattern: logFilePattern, Format: "[a-zA-Z0-9][a-zA-Z0-9_-]*",
				Must: "a name of letters, digits, hyphens and underscores, at most 64", About: "Name of the log file in the log directory, without .log; empty uses the farm name."},
			Get: func(f *farm.Farm) field.Value { return field.TextValue(at(p.seen(f)).File) },
			Set: func(f *farm.Farm, v field.Value) { at(p.of(f)).File = v.Text() },
		},
		boundIn(p, "log_size", field.Advanced(field.AtLogging, "File size").In(field.MiB), "Maximum size of the log file in MiB; then a new file is started.", 1, MaxLogSize, farm.DefaultLogSize, func(t *T) *uint32 { return &at(t).Size }),
		boundIn(p, "log_count", field.Advanced(field.AtLogging, "Rotated files kept").In(field.Files), "Number of rotated log files to keep.", 1, MaxLogCount, farm.DefaultLogKeep, func(t *T) *uint32 { return &at(t).Keep }),
		{
			Rule: field.Rule{Name: "log_target", Hints: field.Advanced(field.AtLogging, "Syslog target"), Kind: field.Text, Blank: true, MaxLen: 256, Check: checkLogTarget, Server: syslog.Host, Format: "udp://host:port, tcp://host:port or unix:///path",
				Unset: field.TextValue(farm.DefaultLogTarget), Must: "a syslog target", About: "Syslog destination for log_sink syslog."},
			Get: func(f *farm.Farm) field.Value {
				return field.TextValue(cmp.Or(at(p.seen(f)).Target, farm.DefaultLogTarget))
			},
			Set: func(f *farm.Farm, v field.Value) { at(p.of(f)).Target = field.OrZero(v.Text(), farm.DefaultLogTarget) },
		},
	}
}

func checkLogTarget(s string) string {
	if err := syslog.CheckTarget(s); err != nil {
		return err.Error()
	}
	return ""
}

// checkLogFiles checks that farms sharing a log file agree on its size and count.
func checkLogFiles(cfg *farm.Config, yield func(field.Error) bool) bool {
	files := map[string]*farm.Farm{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		l, on := f.Log()
		if !on || cmp.Or(l.Sink, farm.LogFile) != farm.LogFile {
			continue
		}
		name := cmp.Or(l.File, f.Name)
		other := files[name]
		if other == nil {
			files[name] = f
			continue
		}
		if a, b := logLimits(f), logLimits(other); a != b && !yield(field.Error{Path: FarmPath(f.Name), Field: "log_file",
			Message: fmt.Sprintf("log_file must not be shared with farm %s unless log_size and log_count are the same: %d MiB and %d files here, %d MiB and %d there",
				field.Show(other.Name), a[0], a[1], b[0], b[1])}) {
			return false
		}
	}
	return true
}

func logLimits(f *farm.Farm) [2]uint32 {
	l, _ := f.Log()
	return [2]uint32{cmp.Or(l.Size, farm.DefaultLogSize), cmp.Or(l.Keep, farm.DefaultLogKeep)}
}
