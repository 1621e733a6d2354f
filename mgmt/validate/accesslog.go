package validate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/syslog"
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
var logFields = slices.Concat(logContents, sinkFields(httpPart, func(h *farm.HTTP) *farm.AccessLog { return &h.AccessLog }), requestID)

// logContents are the fields that define the content of a line.
var logContents = []field[farm.Farm]{
	choice("log_format", basic(atLogging, "Line format"), "Format of an access log line: a JSON object or Apache's combined log format.", farm.LogFormats(), farm.LogJSON, nil,
		func(h *farm.HTTP) *farm.LogFormat { return &h.AccessLog.Format }),
	logFieldsIn(httpPart, "Fields of a log line in order, appended to the line with log_format combined; none means the default fields.", farm.LogFields(),
		func(h *farm.HTTP) *farm.AccessLog { return &h.AccessLog }),
	logNames("log_headers", advanced(atLogging, "Logged headers"), "Request headers to log.", farm.MaxLogHeaders, nil, func(l *farm.AccessLog) *[]string { return &l.Headers }),
	bound("log_sample", advanced(atLogging, "Sampling"), "Log one of every N requests, chosen at random.", 1, MaxLogSample, 1, func(h *farm.HTTP) *uint32 { return &h.AccessLog.Sample }),
	logNames("log_redact", advanced(atLogging, "Masked names"), "Headers and query parameters whose values are masked in the log.", MaxRedact, farm.DefaultRedact(), func(l *farm.AccessLog) *[]string { return &l.Redact }),
}

var requestID = []field[farm.Farm]{
	{
		rule: rule{name: "requestid", hints: advanced(atLogging, "Request ID"), kind: kindText, values: texts(farm.RequestIDs()), null: true, normalize: map[string]string{"auto": ""},
			about: "Recipients of the request ID in X-Request-Id: off (none), backend, or both (backend and client); empty sends it to the backend if the access log includes it."},
		get: func(f *farm.Farm) Value { return textValue(string(httpSeen(f).RequestID)) },
		set: func(f *farm.Farm, v Value) { httpOf(f).RequestID = farm.RequestID(v.text) },
	},
}

// logNames returns a field that lists header or parameter names. Its zero value means
// unset.
func logNames(name string, h hints, about string, most int64, unset []string, at func(*farm.AccessLog) *[]string) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindList, words: true, null: true, max: most, maxLen: 64, pattern: tokenPattern, same: strings.ToLower, unset: listValue(unset),
			must: "the name of a header or parameter", musts: fmt.Sprintf("a list of at most %d names", most), format: "name", about: about},
		get: func(f *farm.Farm) Value {
			if l := *at(&httpSeen(f).AccessLog); len(l) > 0 {
				return listValue(l)
			}
			return listValue(unset)
		},
		set: func(f *farm.Farm, v Value) {
			l := at(&httpOf(f).AccessLog)
			if *l = slices.Clone(v.list); slices.Equal(*l, unset) || len(*l) == 0 {
				*l = nil
			}
		},
	}
}

// logFieldsIn returns the field that selects the contents of a log line.
func logFieldsIn[T any](p part[T], about string, words []farm.LogField, at func(*T) *farm.AccessLog) field[farm.Farm] {
	names := strings.Join(texts(words), ", ")
	return field[farm.Farm]{
		rule: rule{name: "log_fields", hints: advanced(atLogging, "Logged fields"), kind: kindList, words: true, null: true, max: int64(len(words)), format: "name of a field",
			same: func(s string) string { return string(farm.ParseLogField(s)) },
			check: func(s string) string {
				if slices.Contains(words, farm.ParseLogField(s)) {
					return ""
				}
				return "there is no such field"
			},
			must: "one of " + names, musts: "a list of fields: " + names, about: about + " Available: " + names + "."},
		get: func(f *farm.Farm) Value { return listValue(texts(at(p.seen(f)).Fields)) },
		set: func(f *farm.Farm, v Value) {
			l := at(p.of(f))
			l.Fields = nil
			for _, name := range v.list {
				l.Fields = append(l.Fields, farm.ParseLogField(name))
			}
		},
	}
}

// sinkFields are the fields that define the destination of log lines.
func sinkFields[T any](p part[T], at func(*T) *farm.AccessLog) []field[farm.Farm] {
	return []field[farm.Farm]{
		choiceIn(p, "log_sink", basic(atLogging, "Destination"), "Destination of the access log.", farm.LogSinks(), farm.LogFile, nil, func(t *T) *farm.LogSink { return &at(t).Sink }),
		{
			rule: rule{name: "log_file", hints: advanced(atLogging, "File"), kind: kindText, blank: true, maxLen: MaxName, pattern: logFilePattern, format: "[a-zA-Z0-9][a-zA-Z0-9_-]*",
				must: "a name of letters, digits, hyphens and underscores, at most 64", about: "Name of the log file in the log directory, without .log; empty uses the farm name."},
			get: func(f *farm.Farm) Value { return textValue(at(p.seen(f)).File) },
			set: func(f *farm.Farm, v Value) { at(p.of(f)).File = v.text },
		},
		boundIn(p, "log_size", advanced(atLogging, "File size").in(inMiB), "Maximum size of the log file in MiB; then a new file is started.", 1, MaxLogSize, farm.DefaultLogSize, func(t *T) *uint32 { return &at(t).Size }),
		boundIn(p, "log_count", advanced(atLogging, "Rotated files kept").in(inFiles), "Number of rotated log files to keep.", 1, MaxLogCount, farm.DefaultLogKeep, func(t *T) *uint32 { return &at(t).Keep }),
		{
			rule: rule{name: "log_target", hints: advanced(atLogging, "Syslog target"), kind: kindText, blank: true, maxLen: 256, check: checkLogTarget, server: syslog.Host, format: "udp://host:port, tcp://host:port or unix:///path",
				unset: textValue(farm.DefaultLogTarget), must: "a syslog target", about: "Syslog destination for log_sink syslog."},
			get: func(f *farm.Farm) Value { return textValue(cmp.Or(at(p.seen(f)).Target, farm.DefaultLogTarget)) },
			set: func(f *farm.Farm, v Value) { at(p.of(f)).Target = orZero(v.text, farm.DefaultLogTarget) },
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
func checkLogFiles(cfg *farm.Config, yield func(Error) bool) bool {
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
		if a, b := logLimits(f), logLimits(other); a != b && !yield(Error{FarmPath(f.Name), "log_file",
			fmt.Sprintf("log_file must not be shared with farm %s unless log_size and log_count are the same: %d MiB and %d files here, %d MiB and %d there",
				show(other.Name), a[0], a[1], b[0], b[1])}) {
			return false
		}
	}
	return true
}

func logLimits(f *farm.Farm) [2]uint32 {
	l, _ := f.Log()
	return [2]uint32{cmp.Or(l.Size, farm.DefaultLogSize), cmp.Or(l.Keep, farm.DefaultLogKeep)}
}
