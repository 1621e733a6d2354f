package system

import (
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/logfiles"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Logs reads log files; logfiles.Dir implements it.
type Logs interface {
	List() ([]logfiles.File, error)
	Open(name string) (f *os.File, size int64, err error)
	Last(name string, n int) ([]string, error)
}

func (s *Resource) logOperations() []*rest.Operation {
	if s.deps.Logs == nil {
		return nil
	}
	return []*rest.Operation{
		rest.Op(rest.Get, "/system/logs", rbac.LogShow, "Get logs", s.listLogs),
		rest.Long(rest.Get, "/system/logs/{log}", rbac.LogDownload, "Download a log", s.downloadLog),
		rest.Op(rest.Get, "/system/logs/{log}/lines/{lines}", rbac.LogShow, "Show a number of log lines", s.lastLines),
	}
}

// LogItem is a log file.
type LogItem struct {
	File string `json:"file"`
	Date string `json:"date" doc:"Time of the last write"`
	Size int64  `json:"size" doc:"Bytes"`
}

func (s *Resource) listLogs(c *rest.Call) (rest.List[LogItem], error) {
	files, err := s.deps.Logs.List()
	out := []LogItem{}
	for _, f := range files {
		out = append(out, LogItem{f.Name, f.Modified.Format(time.ANSIC), f.Size})
	}
	return rest.NewList(c.Summary(), out), err
}

// logIDs returns the names of logs for callers who may see them.
func (s *Resource) logIDs(c *rest.Call) IDs {
	out := IDs{}
	if s.deps.Logs == nil || !c.By.May(rbac.LogShow) || !c.SeesAll() {
		return out
	}
	files, _ := s.deps.Logs.List() // empty on errors
	for _, f := range files {
		out[f.Name] = nil
	}
	return out
}

// LogLines are lines of a log.
type LogLines struct {
	Description string   `json:"description"`
	Log         []string `json:"log" doc:"Newest first"`
}

func (s *Resource) lastLines(c *rest.Call) (LogLines, error) {
	n, err := strconv.Atoi(c.Param("lines"))
	if err != nil || n < 1 || n > logfiles.MaxLines {
		return LogLines{}, rest.BadRequest("lines: %s is not allowed, allowed are numbers from 1 to %d", rest.Quote(c.Param("lines")), logfiles.MaxLines)
	}
	lines, err := s.deps.Logs.Last(c.Param("log"), n)
	return LogLines{c.Summary(), lines}, noLog(c, err)
}

func noLog(c *rest.Call, err error) error {
	if errors.Is(err, logfiles.ErrNone) {
		return rest.NotFound("the log %s does not exist", rest.Quote(c.Param("log")))
	}
	return err
}

func (s *Resource) downloadLog(c *rest.Call) (rest.Streamed, error) {
	f, size, err := s.deps.Logs.Open(c.Param("log"))
	if err != nil {
		return nil, noLog(c, err)
	}
	return rest.Download(f, size, c.Param("log")), nil
}
