package supervisor

import (
	"os"

	"github.com/sluicelb/sluice/core/logpipe"
)

// LogPipe is what a role finds the pipe by into which it writes what it logs, for mgmt.
const LogPipe = "logs"

// ReadLogPipe is what mgmt finds the other end by, of the supervisor or a role.
func ReadLogPipe(of string) string { return "logs-" + of }

// LogPipesOf are those who have one.
var LogPipesOf = []string{"supervisor", "engine", "netd", "progd"}

// logPipes are the pipes through which mgmt hears what the others log. The supervisor
// holds both ends: nothing is lost while mgmt is away, but what has no room.
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
