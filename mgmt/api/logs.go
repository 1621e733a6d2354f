package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/mgmt/logfiles"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Logs reads log files; logfiles.Dir is one.
type Logs interface {
	List() ([]logfiles.File, error)
	Open(name string) (f *os.File, size int64, err error)
	Last(name string, n int) ([]string, error)
}

func (s *Server) logOperations() []*operation {
	if s.deps.Logs == nil {
		return nil
	}
	return []*operation{
		op(get, "/system/logs", rbac.LogShow, "Get logs", s.listLogs),
		long(get, "/system/logs/{log}", rbac.LogDownload, "Download a log", s.downloadLog),
		op(get, "/system/logs/{log}/lines/{lines}", rbac.LogShow, "Show a number of log lines", s.lastLines),
	}
}

// LogItem is a log file.
type LogItem struct {
	File string `json:"file"`
	Date string `json:"date" doc:"When it was last written to"`
	Size int64  `json:"size" doc:"Bytes"`
}

func (s *Server) listLogs(c *call) (Object[[]LogItem], error) {
	files, err := s.deps.Logs.List()
	out := []LogItem{}
	for _, f := range files {
		out = append(out, LogItem{f.Name, f.Modified.Format(time.ANSIC), f.Size})
	}
	return Object[[]LogItem]{Description: c.op.summary, Params: out}, err
}

// logIDs are the names of logs, for who may see them.
func (s *Server) logIDs(c *call) IDs {
	out := IDs{}
	if s.deps.Logs == nil || !c.by.May(rbac.LogShow) || !c.seesAll() {
		return out
	}
	files, _ := s.deps.Logs.List() // without them there is nothing to complete
	for _, f := range files {
		out[f.Name] = nil
	}
	return out
}

// LogLines are lines of a log.
type LogLines struct {
	Description string   `json:"description"`
	Log         []string `json:"log" doc:"The newest first"`
}

func (s *Server) lastLines(c *call) (LogLines, error) {
	n, err := strconv.Atoi(c.param("lines"))
	if err != nil || n < 1 || n > logfiles.MaxLines {
		return LogLines{}, badRequest("lines: %s is not allowed, allowed are numbers from 1 to %d", quoteName(c.param("lines")), logfiles.MaxLines)
	}
	lines, err := s.deps.Logs.Last(c.param("log"), n)
	return LogLines{c.op.summary, lines}, c.noLog(err)
}

func (c *call) noLog(err error) error {
	if errors.Is(err, logfiles.ErrNone) {
		return notFound("the log %s does not exist", quoteName(c.param("log")))
	}
	return err
}

func (s *Server) downloadLog(c *call) (func(huma.Context), error) {
	f, size, err := s.deps.Logs.Open(c.param("log"))
	if err != nil {
		return nil, c.noLog(err)
	}
	return sent(f, size, c.param("log")), nil
}

// downloadContent is what downloads are: nothing a browser shows.
const downloadContent = "application/octet-stream"

// sent writes a file of that size, to be saved by that name, and closes it.
func sent(f io.ReadCloser, size int64, name string) func(huma.Context) {
	return func(ctx huma.Context) {
		defer f.Close()
		ctx.SetHeader("Content-Type", downloadContent)
		ctx.SetHeader("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
		ctx.SetHeader("Content-Length", strconv.FormatInt(size, 10))
		ctx.SetStatus(http.StatusOK)
		_, _ = io.CopyN(ctx.BodyWriter(), f, size) // a client that went hears no more
	}
}

// long makes an operation whose answer is a file that is too long to be held in memory.
func long(method, path string, needs rbac.Permission, summary string, handler func(*call) (func(huma.Context), error)) *operation {
	o := &operation{method: method, path: path, needs: needs, summary: summary, success: http.StatusOK, download: downloadContent}
	o.register = func(api huma.API, s *Server) {
		huma.Register(api, o.documented(api, jsonContent), func(ctx context.Context, in *input) (*output[func(huma.Context)], error) {
			return answer(ctx, s, o, in, handler)
		})
	}
	return o
}
