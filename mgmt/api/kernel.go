package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Kernel is what the appliance has set in the kernel: netd knows. Its errors are
// apply.ErrUnavailable while it does not answer, ErrKernel, and others.
type Kernel interface {
	// Rules is the packet filter rules of a farm as text, empty when it has none.
	Rules(ctx context.Context, farm uint32) (string, error)
	// Objects lists everything that is set.
	Objects(ctx context.Context) ([]KernelObject, error)
	// Clean removes all of it and lists what is gone. What running farms need is
	// set again by the next change of the configuration or restart.
	Clean(ctx context.Context) ([]KernelObject, error)
}

// ErrKernel: the kernel did not do what it was asked. The error that wraps it
// says why, for the client too.
var ErrKernel = errors.New("the kernel refused")

// KernelObject is one thing the appliance has set in the kernel.
type KernelObject struct {
	Kind   string `json:"kind" doc:"table, address, sysctl, firewall, listener, …"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty" doc:"What it is for, what was there before"`
}

func (s *Server) kernelOperations() []*operation {
	if s.deps.Kernel == nil {
		return nil
	}
	return []*operation{
		op(get, "/system/kernel", rbac.SystemMenu, "List what the appliance has set in the kernel", s.listKernel).ofAll(),
		op(post, "/system/kernel/clean", rbac.RootOnly, "Remove what the appliance has set in the kernel", s.cleanKernel),
	}
}

func (s *Server) listKernel(c *call) (List[KernelObject], error) {
	found, err := s.deps.Kernel.Objects(c.ctx)
	if err != nil {
		return List[KernelObject]{}, netdRejection(err)
	}
	return list(c.op.summary, found), nil
}

func (s *Server) cleanKernel(c *call) (Object[[]KernelObject], error) {
	var none Object[[]KernelObject]
	if _, err := c.expected(); err != nil {
		return none, err
	}
	if err := c.act(); err != nil {
		return none, err
	}
	gone, err := s.deps.Kernel.Clean(c.ctx)
	if err != nil {
		return none, netdRejection(err)
	}
	return Object[[]KernelObject]{Description: c.op.summary, Params: append([]KernelObject{}, gone...),
		Message: fmt.Sprintf("%d things have been removed from the kernel.", len(gone)), Warning: cleaned(c.cfg)}, nil
}

// cleaned says which farms take nothing any more.
func cleaned(cfg *farm.Config) string {
	var names []string
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; f.InKernel() && !f.Stopped {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "until the next change of the configuration, or start of the appliance, nothing comes to " + strings.Join(names, ", ")
}

// netdRejection says that netd is away or what it says, if that is why.
func netdRejection(err error) error {
	if errors.Is(err, ErrKernel) {
		return &rejection{status: http.StatusConflict, message: err.Error(), cause: err}
	}
	if errors.Is(err, apply.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return &rejection{status: http.StatusServiceUnavailable, message: "netd does not answer, and it is what knows the kernel: try again", cause: err}
	}
	return err
}
