package farms

import (
	"errors"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// PathPossibility reports whether a data path can serve a farm.
type PathPossibility struct {
	DataPath farm.DataPath `json:"datapath" enum:"userspace,kernel"`
	Possible string        `json:"possible" enum:"true,false"`
	Reason   string        `json:"reason,omitempty" doc:"Reason why it is not possible"`
}

// FarmExplanation reports the data path of a farm and the reason for it.
type FarmExplanation struct {
	FarmName string            `json:"farmname"`
	Profile  farm.Profile      `json:"profile"`
	DataPath farm.DataPath     `json:"datapath" enum:"auto,userspace,kernel" doc:"Requested item"`
	Carrier  farm.DataPath     `json:"carrier" enum:"userspace,kernel" doc:"Data path in use for the farm"`
	Why      string            `json:"reason" doc:"Reason for the data path in use"`
	Possible []PathPossibility `json:"possible" doc:"Each data path and whether it supports the farm's current settings"`
	Rules    string            `json:"rules,omitempty" doc:"Packet filter rules of a farm in the kernel"`
	Warnings []string          `json:"warnings,omitempty" doc:"Parts of the farm that currently cannot work"`
}

// explainFarm responds with the data path of the farm, including the packet filter rules of
// a kernel farm.
func (s *Resource) explainFarm(c *rest.Call) (rest.Object[FarmExplanation], error) {
	f, err := c.Farm()
	if err != nil {
		return rest.Object[FarmExplanation]{}, err
	}
	out := rest.Object[FarmExplanation]{Description: "Explain the data path of farm " + f.Name, Params: ProfileOf(f).carrying(f)}
	out.Params.Warnings = s.warnings(c, f)
	if !f.InKernel() {
		return out, nil
	}
	switch {
	case f.Stopped:
		out.Warning = "the farm is stopped: it has no rules"
	case s.deps.Kernel == nil:
		out.Warning = "the rules are not known: nobody can be asked for them"
	default:
		if out.Params.Rules, err = s.deps.Kernel.Rules(c.Context, f.ID); err != nil {
			s.deps.Log.Debug("rules not shown", "farm", f.Name, "cause", err)
			out.Warning = "the rules are not known: netd does not answer"
			if errors.Is(err, state.ErrKernel) {
				out.Warning = "the rules are not known: " + err.Error()
			}
		}
	}
	return out, nil
}

func possibility(path farm.DataPath, reason string) PathPossibility {
	return PathPossibility{DataPath: path, Possible: rest.Truth(reason == ""), Reason: reason}
}

// askedPath returns the configured data path.
func askedPath(l *farm.L4) farm.DataPath {
	if l.DataPath == "" {
		return farm.DataPathAuto
	}
	return l.DataPath
}

// warnings lists what cannot work in the farm now, and which clients its address does not
// serve.
func (s *Resource) warnings(c *rest.Call, f *farm.Farm) []string {
	list := s.deps.State.Warnings(c, f)
	if text := profile.VIPWarning(f); text != "" {
		list = append(list, text)
	}
	return list
}
