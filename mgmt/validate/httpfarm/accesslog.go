package httpfarm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// logFields are the fields of access logs. The field logs itself is among settings.
var logFields = slices.Concat(logContents, profile.SinkFields(part,
	func(h *farm.HTTP) *farm.AccessLog { return &h.AccessLog }), requestID)

// logContents are the fields that define the content of a line.
var logContents = []field.Field[farm.Farm]{
	choice("log_format", field.Basic(field.AtLogging, "Line format"), "Format of an access log line: a JSON object or Apache's combined log format.", farm.LogFormats(), farm.LogJSON, nil,
		func(h *farm.HTTP) *farm.LogFormat { return &h.AccessLog.Format }),
	profile.LogFields(part, "Fields of a log line in order, appended to the line with log_format combined; none means the default fields.", farm.LogFields(),
		func(h *farm.HTTP) *farm.AccessLog { return &h.AccessLog }),
	logNames("log_headers", field.Advanced(field.AtLogging, "Logged headers"), "Request headers to log.", farm.MaxLogHeaders, nil, func(l *farm.AccessLog) *[]string { return &l.Headers }),
	bound("log_sample", field.Advanced(field.AtLogging, "Sampling"), "Log one of every N requests, chosen at random.", 1, profile.MaxLogSample, 1, func(h *farm.HTTP) *uint32 { return &h.AccessLog.Sample }),
	logNames("log_redact", field.Advanced(field.AtLogging, "Masked names"), "Headers and query parameters whose values are masked in the log.", profile.MaxRedact, farm.DefaultRedact(), func(l *farm.AccessLog) *[]string { return &l.Redact }),
}

var requestID = []field.Field[farm.Farm]{
	{
		Rule: field.Rule{Name: "requestid", Hints: field.Advanced(field.AtLogging, "Request ID"), Kind: field.Text, Values: field.Texts(farm.RequestIDs()), Null: true, Normalize: map[string]string{"auto": ""},
			About: "Recipients of the request ID in X-Request-Id: off (none), backend, or both (backend and client); empty sends it to the backend if the access log includes it."},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(string(read(f).RequestID)) },
		Set: func(f *farm.Farm, v field.Value) { edit(f).RequestID = farm.RequestID(v.Text()) },
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
			if l := *at(&read(f).AccessLog); len(l) > 0 {
				return field.ListValue(l)
			}
			return field.ListValue(unset)
		},
		Set: func(f *farm.Farm, v field.Value) {
			l := at(&edit(f).AccessLog)
			if *l = slices.Clone(v.List()); slices.Equal(*l, unset) || len(*l) == 0 {
				*l = nil
			}
		},
	}
}
