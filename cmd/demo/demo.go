// Package demo runs an instance for a first look: a farm "demo" with two small backends
// in the same process.
//
// It is `sluice run` with a separate data directory and the API on loopback, so that it
// does not affect a real instance. The directory is "sluice-demo" next to the real one:
// /var/lib/sluice-demo for root, else in the user's state directory. Every start makes
// the same farm on the same ports. It replaces leftovers of an earlier start through the
// public API. If another program uses a port, the next free one is taken and reported.
package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
)

// Names and ports of the demonstration.
const (
	farmName    = "demo"
	serviceName = "all"
	farmPort    = 8080
	backendPort = 8181 // of the first backend
	apiPort     = 4444
	// tries is the number of ports to try, from the preferred one on.
	tries = 50
)

// Options are the parameters of the demonstration.
type Options struct {
	// Data is the data directory; empty means that of the demonstration.
	Data string
	// API is the address of the API; empty means port 4444 on loopback, or the next free
	// one.
	API string
	// Log receives the events of the instance; it must be set.
	Log *slog.Logger
	// Out receives the text for the user; nil means standard output.
	Out io.Writer
	// GUI says that the program was built with its GUI.
	GUI bool
}

// Run runs the demonstration until ctx ends or a signal stops the instance.
func Run(ctx context.Context, o Options) error {
	own := o.Data == ""
	if err := o.fill(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	backends, err := startBackends(ctx, "blue", "green")
	if err != nil {
		return err
	}
	// The port is chosen before the start, because the instance first runs the previous
	// configuration, whose farm may use the port.
	port, err := freePort(farmPort)
	if err != nil {
		return err
	}
	err = supervisor.Run(ctx, supervisor.Options{
		Data: o.Data,
		API:  o.API,
		Log:  o.Log,
		Ready: func(i supervisor.Instance) {
			c := newClient(i.Socket)
			if err := prepare(ctx, c, own, port, backends); err != nil {
				cancel(fmt.Errorf("preparing the demonstration farm: %w", err))
				return
			}
			g, err := invite(ctx, c, own)
			if err != nil {
				cancel(fmt.Errorf("preparing the user of the demonstration: %w", err))
				return
			}
			o.explain(i, port, g)
		},
	})
	if err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && cause != context.Canceled {
		return cause
	}
	return nil
}

func (o *Options) fill() error {
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Data == "" {
		dir, err := dataDir()
		if err != nil {
			return err
		}
		o.Data = dir
	}
	if o.API == "" {
		port, err := freePort(apiPort)
		if err != nil {
			return err
		}
		o.API = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return nil
}

// dataDir returns the data directory of the demonstration.
func dataDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/sluice-demo", nil
	}
	return supervisor.StateDir("sluice-demo")
}

// freePort returns the first port, from the preferred one on, that is free on loopback.
func freePort(wanted int) (int, error) {
	for port := wanted; port < wanted+tries; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 from %d to %d", wanted, wanted+tries-1)
}

// explain prints the addresses of the instance and commands to try.
func (o *Options) explain(i supervisor.Instance, port int, g guest) {
	program := filepath.Base(os.Args[0])
	if path, err := os.Executable(); err == nil {
		program = shortest(path)
	}
	sluice := program + " --data " + i.Data
	farm := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	taken := ""
	if port != farmPort {
		taken = fmt.Sprintf("\nPort %d is taken by another program, so the farm has port %d.", farmPort, port)
	}
	gui := fmt.Sprintf("https://%s/gui/", i.API)
	if !o.GUI {
		gui = fmt.Sprintf("none: this program was built without it, for want of Node.js\n  log in       https://%s/api/v4.0/session", i.API)
	}
	fmt.Fprintf(o.Out, `
Sluice is running. Press Ctrl-C to stop it.%[4]s

  GUI          %[7]s   user "%[5]s", password "%[6]s"   (self-signed certificate)
  API          https://%[1]s/api/v4.0/farms
  farm "demo"  http://%[2]s/   two backends, "blue" and "green"
  API key      %[3]s key create

Try, in another terminal:

  curl http://%[2]s/
  %[3]s farm list
  %[3]s backend maintenance demo all 0 --mode drain

`, i.API, farm, sluice, taken, g.name, g.password, gui)
}

// shortest returns the path as a user in the working directory would type it.
func shortest(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return "./" + rel
	}
	return path
}

// backend is one demonstration server.
type backend struct {
	name string
	addr netip.AddrPort
}

// startBackends starts one server per name on loopback. They end with ctx.
func startBackends(ctx context.Context, names ...string) ([]backend, error) {
	var out []backend
	next := backendPort
	for _, name := range names {
		port, err := freePort(next)
		if err != nil {
			return nil, err
		}
		next = port + 1
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return nil, fmt.Errorf("starting the demonstration backend %q: %w", name, err)
		}
		server := &http.Server{Handler: answer(name), ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(l) }() // ends with Close
		context.AfterFunc(ctx, func() { _ = server.Close() })
		out = append(out, backend{name, l.Addr().(*net.TCPAddr).AddrPort()})
	}
	return out, nil
}

func answer(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Backend", name)
		fmt.Fprintf(w, "Hello from backend %q.\n%s %s for %s, forwarded for %s\n",
			name, r.Method, r.URL.RequestURI(), r.Host, r.Header.Get("X-Forwarded-For"))
	})
}

// prepare replaces the configuration by the demonstration farm. In a data directory that
// is not its own, it refuses to replace other farms.
func prepare(ctx context.Context, c *client, own bool, port int, backends []backend) error {
	var present []struct {
		Name string `json:"farmname"`
	}
	if err := c.call(ctx, http.MethodGet, pathOf("farms"), nil, &present); err != nil {
		return err
	}
	for _, f := range present {
		if f.Name != farmName && !own {
			return fmt.Errorf("the data directory has a farm %q, which the demonstration would replace: choose another --data", f.Name)
		}
	}
	// The configuration is cleared first, so that backend numbers begin at 0.
	if err := c.call(ctx, http.MethodPut, pathOf("config"), map[string]any{"farms": []any{}}, nil); err != nil {
		return err
	}
	servers := []map[string]any{}
	for _, b := range backends {
		servers = append(servers, map[string]any{"ip": b.addr.Addr().String(), "port": int(b.addr.Port()), "alias": b.name})
	}
	return c.call(ctx, http.MethodPut, pathOf("config"), map[string]any{"farms": []any{map[string]any{
		"name": farmName, "profile": "http", "vip": "127.0.0.1", "vport": port,
		"services": []any{map[string]any{"name": serviceName, "backends": servers}},
	}}}, nil)
}
