package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/api/upkeep"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/support"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// answered lists the API responses for the support archive. They show only what any API
// user may see, and no secrets.
var answered = []string{
	"/status", "/system/version", "/system/global", "/system/kernel", "/farms", "/stats", "/stats/farms", "/history?limit=100",
	"/certificates", "/authorities", "/certificates/letsencryptz", "/system/backup", "/system/scripts", "/audit?limit=200",
	"/rbac/users", "/rbac/groups", "/rbac/roles",
}

// Collector returns the collector of support archives: responses of the API, the rules of
// kernel farms, and parts. kernel may be nil.
func (h *Host) Collector(kernel system.Kernel, parts func() []support.Part) upkeep.Support {
	return support.New(func() []support.Part {
		out := []support.Part{support.Text("configuration.yaml", func() string {
			return string(document.Shown(validate.Veil{Headers: true, Checks: true}.Apply(h.current())))
		}), h.kernelRules(kernel)}
		for _, path := range answered {
			out = append(out, h.answerPart(path))
		}
		if m := h.Metrics; m != nil {
			out = append(out, support.Part{Name: "metrics.txt", Limit: 4 << 20, Write: func(ctx context.Context, w io.Writer) error {
				return get(ctx, m, MetricsPath, w)
			}})
		}
		return append(out, parts()...)
	}, h.Now)
}

// answerPart is root's response to a GET.
func (h *Host) answerPart(path string) support.Part {
	bare, _, _ := strings.Cut(path, "?")
	name := "api/" + strings.ReplaceAll(strings.Trim(bare, "/"), "/", "-") + ".json"
	return support.Part{Name: name, Write: func(ctx context.Context, w io.Writer) error { return h.ask(ctx, Base+path, w) }}
}

// ask performs a GET within this process, as root.
func (h *Host) ask(ctx context.Context, path string, to io.Writer) error {
	who, _ := h.Users.Identity(rbac.Root)
	return get(rest.WithPrincipal(ctx, auth.Principal{Name: rbac.Root, Source: "supportsave", Who: who}), h.server.inner, path, to)
}

// get writes the response of a handler.
func get(ctx context.Context, h http.Handler, path string, to io.Writer) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	r.RequestURI = path
	w := &kept{header: http.Header{}, to: to, status: http.StatusOK}
	h.ServeHTTP(w, r)
	if w.err == nil && w.status != http.StatusOK {
		w.err = fmt.Errorf("status %d", w.status)
	}
	return w.err
}

// kept is an in-process client.
type kept struct {
	header http.Header
	to     io.Writer
	status int
	err    error
}

func (k *kept) Header() http.Header    { return k.header }
func (k *kept) WriteHeader(status int) { k.status = status }

func (k *kept) Write(b []byte) (int, error) {
	if k.err != nil {
		return 0, k.err
	}
	n, err := k.to.Write(b)
	k.err = err
	return n, err
}

// kernelRules returns the packet filter rules of all kernel farms.
func (h *Host) kernelRules(kernel system.Kernel) support.Part {
	return support.Part{Name: "kernel/rules.txt", Write: func(ctx context.Context, w io.Writer) error {
		if kernel == nil {
			return nil
		}
		cfg := h.current()
		for i := range cfg.Farms {
			f := &cfg.Farms[i]
			if !f.InKernel() || f.Stopped {
				continue
			}
			rules, err := kernel.Rules(ctx, f.ID)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "# farm %s\n%s\n", f.Name, rules); err != nil {
				return err
			}
		}
		return nil
	}}
}
