package supervisor

import (
	"os"

	"github.com/sluicelb/sluice/core/logpipe"
)

// LogPipe is the name of the pipe to which a role writes its log for mgmt.
const LogPipe = "logs"

// ReadLogPipe returns the name of mgmt's end of a process's pipe.
func ReadLogPipe(of string) string { return "logs-" + of }

// LogPipesOf are the processes with a pipe.
var LogPipesOf = []string{"supervisor", "engine", "netd", "progd"}

// logPipes are the pipes for log lines to mgmt. The supervisor holds both ends, so lines are
// kept while mgmt is down, up to the capacity of the pipe.
type logPipes struct {
	read, write map[string]*os.File
	own         *logpipe.Writer
}

func openLogPipes() (p *logPipes, err error) {
	p = &logPipes{read: map[string]*os.File{}, write: map[string]*os.File{}}
	for _, of := range LogPipesOf {
		if p.read[of], p.write[of], err = logpipe.Open(); err != nil {
			p.close()
			return nil, err
		}
	}
	if p.own, err = logpipe.NewWriter(p.write["supervisor"]); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *logPipes) close() {
	for _, ends := range []map[string]*os.File{p.read, p.write} {
		for _, f := range ends {
			if f != nil {
				_ = f.Close()
			}
		}
	}
}
