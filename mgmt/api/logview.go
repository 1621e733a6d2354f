package api

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// LogView is how the exchanges of a farm are logged; logs says whether.
type LogView struct {
	Format  farm.LogFormat `json:"log_format"`
	Headers []string       `json:"log_headers"`
	Redact  []string       `json:"log_redact"`
	LogLines
	RequestID farm.RequestID `json:"requestid"`
}

// LogLines is which lines a log gets, and where they go to.
type LogLines struct {
	Fields []farm.LogField `json:"log_fields" doc:"None means the usual ones"`
	Sample uint32          `json:"log_sample"`
	Sink   farm.LogSink    `json:"log_sink"`
	File   string          `json:"log_file" doc:"Blank means the name of the farm"`
	Size   uint32          `json:"log_size" doc:"MiB"`
	Count  uint32          `json:"log_count"`
	Target string          `json:"log_target"`
}

func logView(h *farm.HTTP) LogView {
	l := &h.AccessLog
	out := LogView{
		Format: cmp.Or(l.Format, farm.LogJSON), Headers: append([]string{}, l.Headers...), Redact: l.Redact,
		LogLines: logLines(l), RequestID: h.RequestID,
	}
	if len(out.Redact) == 0 {
		out.Redact = farm.DefaultRedact()
	}
	return out
}

func logLines(l *farm.AccessLog) LogLines {
	return LogLines{
		Fields: append([]farm.LogField{}, l.Fields...), Sample: cmp.Or(l.Sample, 1), Sink: cmp.Or(l.Sink, farm.LogFile), File: l.File,
		Size: cmp.Or(l.Size, farm.DefaultLogSize), Count: cmp.Or(l.Keep, farm.DefaultLogKeep), Target: cmp.Or(l.Target, farm.DefaultLogTarget),
	}
}
