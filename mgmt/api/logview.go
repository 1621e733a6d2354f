package api

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// LogView is how the exchanges of a farm are logged; logs says whether.
type LogView struct {
	Format    farm.LogFormat  `json:"log_format"`
	Fields    []farm.LogField `json:"log_fields" doc:"None means the usual ones"`
	Headers   []string        `json:"log_headers"`
	Sample    uint32          `json:"log_sample"`
	Redact    []string        `json:"log_redact"`
	Sink      farm.LogSink    `json:"log_sink"`
	File      string          `json:"log_file" doc:"Blank means the name of the farm"`
	Size      uint32          `json:"log_size" doc:"MiB"`
	Count     uint32          `json:"log_count"`
	Target    string          `json:"log_target"`
	RequestID farm.RequestID  `json:"requestid"`
}

func logView(h *farm.HTTP) LogView {
	l := &h.AccessLog
	out := LogView{
		Format: cmp.Or(l.Format, farm.LogJSON), Fields: append([]farm.LogField{}, l.Fields...), Headers: append([]string{}, l.Headers...),
		Sample: cmp.Or(l.Sample, 1), Redact: l.Redact, Sink: cmp.Or(l.Sink, farm.LogFile), File: l.File,
		Size: cmp.Or(l.Size, farm.DefaultLogSize), Count: cmp.Or(l.Keep, farm.DefaultLogKeep),
		Target: cmp.Or(l.Target, farm.DefaultLogTarget), RequestID: h.RequestID,
	}
	if len(out.Redact) == 0 {
		out.Redact = farm.DefaultRedact()
	}
	return out
}
