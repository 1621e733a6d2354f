package role

import (
	"os"

	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/snapshot"
)

// Publish implements link.Handler. What does not check out changes nothing, in none
// of the engines.
func (e *engine) Publish(file *os.File, opened map[string][]*os.File) link.Ack {
	if opened == nil {
		opened = map[string][]*os.File{} // the set adds to it
	}
	defer closeAll(opened)
	generation, cfg, err := snapshot.Load(file)
	if err != nil {
		return e.refuse(generation, err)
	}
	problems, err := e.set.Publish(generation, cfg, opened)
	if err != nil {
		return e.refuse(generation, err)
	}
	e.memory.Retain(e.set.SessionOwners(cfg)...)
	e.page.SetAcknowledged(generation)
	return link.Ack{Generation: generation, Farms: problems, Listeners: e.set.Listeners()}
}
