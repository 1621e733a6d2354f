package profile

import (
	"cmp"
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

// LogFields returns the field that selects the contents of a log line.
func LogFields[T any](p Part[T], about string, words []farm.LogField,
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
		Get: func(f *farm.Farm) field.Value { return field.ListValue(field.Texts(at(p.Read(f)).Fields)) },
		Set: func(f *farm.Farm, v field.Value) {
			l := at(p.Edit(f))
			l.Fields = nil
			for _, name := range v.List() {
				l.Fields = append(l.Fields, farm.ParseLogField(name))
			}
		},
	}
}

// SinkFields are the fields that define the destination of log lines.
func SinkFields[T any](p Part[T], at func(*T) *farm.AccessLog) []field.Field[farm.Farm] {
	return []field.Field[farm.Farm]{
		Choice(p, "log_sink", field.Basic(field.AtLogging, "Destination"), "Destination of the access log.", farm.LogSinks(), farm.LogFile, nil, func(t *T) *farm.LogSink { return &at(t).Sink }),
		{
			Rule: field.Rule{Name: "log_file", Hints: field.Advanced(field.AtLogging, "File"), Kind: field.Text, Blank: true, MaxLen: format.MaxName, Pattern: logFilePattern, Format: "[a-zA-Z0-9][a-zA-Z0-9_-]*",
				Must: "a name of letters, digits, hyphens and underscores, at most 64", About: "Name of the log file in the log directory, without .log; empty uses the farm name."},
			Get: func(f *farm.Farm) field.Value { return field.TextValue(at(p.Read(f)).File) },
			Set: func(f *farm.Farm, v field.Value) { at(p.Edit(f)).File = v.Text() },
		},
		Bound(p, "log_size", field.Advanced(field.AtLogging, "File size").In(field.MiB), "Maximum size of the log file in MiB; then a new file is started.", 1, MaxLogSize, farm.DefaultLogSize, func(t *T) *uint32 { return &at(t).Size }),
		Bound(p, "log_count", field.Advanced(field.AtLogging, "Rotated files kept").In(field.Files), "Number of rotated log files to keep.", 1, MaxLogCount, farm.DefaultLogKeep, func(t *T) *uint32 { return &at(t).Keep }),
		{
			Rule: field.Rule{Name: "log_target", Hints: field.Advanced(field.AtLogging, "Syslog target"), Kind: field.Text, Blank: true, MaxLen: 256, Check: checkLogTarget, Server: syslog.Host, Format: "udp://host:port, tcp://host:port or unix:///path",
				Unset: field.TextValue(farm.DefaultLogTarget), Must: "a syslog target", About: "Syslog destination for log_sink syslog."},
			Get: func(f *farm.Farm) field.Value {
				return field.TextValue(cmp.Or(at(p.Read(f)).Target, farm.DefaultLogTarget))
			},
			Set: func(f *farm.Farm, v field.Value) {
				at(p.Edit(f)).Target = field.OrZero(v.Text(), farm.DefaultLogTarget)
			},
		},
	}
}

func checkLogTarget(s string) string {
	if err := syslog.CheckTarget(s); err != nil {
		return err.Error()
	}
	return ""
}
