package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

func systemCommand(c *command.Line) *cobra.Command {
	commands := []*cobra.Command{systemConfig(c)}
	for i := range system.Sections {
		if s := &system.Sections[i]; !s.Items {
			commands = append(commands, systemSection(c, s))
		}
	}
	return command.Parent("system", "Settings of the appliance and the machine, and kernel state", "  sluice system dns primary=192.0.2.53\n  sluice system kernel\n  sluice system clean",
		append(commands, systemLanguage(c), systemPackages(c), systemLicense(c), systemKernel(c),
			systemClean(c), systemScripts(c), systemFactory(c))...)
}

// systemExamples are example calls by section.
var systemExamples = map[string]string{
	"dns":    "  sluice system dns\n  sluice system dns primary=192.0.2.53 secondary=2001:db8::53\n  sluice system dns primary= secondary=",
	"ntp":    "  sluice system ntp server=ntp.example.org\n  sluice system ntp server=",
	"ssh":    "  sluice system ssh port=2222 listen=192.0.2.1",
	"snmp":   "  sluice system snmp status=true community=SECRET scope=192.0.2.0/24",
	"http":   "  sluice system http ip=192.0.2.1 port=8443\n  sluice system http certificate=gui.pem",
	"proxy":  "  sluice system proxy https_proxy=http://proxy.example.org:3128",
	"syslog": "  sluice system syslog servers=tls://log.example.org,udp://192.0.2.14",
}

// systemSection returns a command that shows or changes a section of machine settings.
func systemSection(c *command.Line, s *system.Section) *cobra.Command {
	return command.SettingsCommandBy(c, http.MethodPost, "/system/"+s.Name, s.Table.Params(),
		sectionState, &cobra.Command{
			Use: s.Name + " [NAME=VALUE…]", Short: s.Title + ": show or change", Example: systemExamples[s.Name],
		})
}

// sectionState are the fields of sections that show the state of the machine.
var sectionState = []command.ShownField{
	{Name: "in_force"}, {Name: "managed_by"}, {Name: "service"}, {Name: "synchronised"}, {Name: "offset"}, {Name: "source"}, {Name: "agent"}, {Name: "listens"},
	{Name: "delivery", Item: delivered}, {Name: "problem"},
}

// delivered formats the delivery state of one syslog server.
func delivered(server any) string {
	s, _ := server.(map[string]any)
	text := fmt.Sprintf("%s: %v sent, %v waiting, %v dropped, %v reconnects", show.Cell(s["server"]), s["sent"], s["waiting"], s["dropped"], s["reconnects"])
	if why := s["problem"]; why != nil {
		return text + "; " + show.Cell(why)
	}
	if last := s["last_error"]; last != nil {
		return text + "; last error " + show.Cell(s["last_error_time"]) + ": " + show.Cell(last)
	}
	return text
}

var systemParams = []field.Param{
	{Name: "api_names", Options: []string{"list"}, Description: "further names of the API for browsers, besides those of its certificate and of the host; null: none"},
	{Name: "resolve_min_ttl", Description: "minimum TTL in seconds for addresses of a backend's host name; null: 5"},
	{Name: "resolve_max_ttl", Description: "maximum TTL in seconds for them; null: 3600"},
	{Name: "resolve_gone_time", Description: "seconds for which gslb services keep the last addresses of a name that no longer resolves; null: 3600"},
	{Name: "session_timeout", Description: "idle minutes until a user is logged out; null: 30"},
	{Name: "log_level", PossibleValues: []string{"debug", "info", "warn", "error"}, Description: "log level of mgmt; null: that of SLUICE_LOG"},
	{Name: "le_renewal_timeout", Interval: "30,3600", Description: "maximum seconds for the order or renewal of one certificate, without the wait for DNS records; null: 120"},
	{Name: "cors_devel_mode", PossibleValues: []string{"true", "false"}, Description: "allow pages at localhost to use the API with a session cookie, for GUI development"},
}

func systemConfig(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, "/system/global", systemParams, &cobra.Command{
		Use: "config [NAME=VALUE…]", Short: "Show or change settings of the appliance",
		Example: "  sluice system config api_names=lb.example.com api_names=balancer.example.com\n  sluice system config log_level=debug",
	})
}

// KernelObject is one object set in the kernel.
type KernelObject struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
}

// Leftovers lists, and with clean removes, kernel objects left by a stopped appliance. The
// program sets it. data is the appliance's data directory.
//
// named means that the directory was given by flag or environment.
var Leftovers func(ctx context.Context, data string, named, clean bool) ([]KernelObject, error)

// orLeftovers responds in place of a stopped appliance.
func orLeftovers(c *command.Line, cmd *cobra.Command, clean bool, a client.Response, err error) (client.Response,
	error) {
	if _, stopped := errors.AsType[*client.NotRunning](err); !stopped || Leftovers == nil {
		return a, err
	}
	named := cmd.Flags().Changed("data") || os.Getenv("SLUICE_DATA") != ""
	list, cause := Leftovers(cmd.Context(), c.API.Data, named, clean)
	switch {
	case errors.Is(cause, fs.ErrNotExist): // none ever ran there
		return a, err
	case cause != nil:
		return client.Response{}, fmt.Errorf("no sluice runs in %s, and its kernel state cannot be read: %w", c.API.Data, cause)
	}
	body := map[string]any{"description": cmd.Short, "params": append([]KernelObject{}, list...)}
	if clean {
		body["message"] = fmt.Sprintf("Removed %d objects from the kernel.", len(list))
	}
	raw, err := json.Marshal(body)
	return client.Response{Body: raw}, err
}

// kernelObjects is a response with current or removed objects.
type kernelObjects struct {
	Params []KernelObject
}

func (v kernelObjects) sheet() *show.Sheet {
	s := show.NewSheet("KIND", "NAME", "DETAIL")
	for _, o := range v.Params {
		s.Add(o.Kind, o.Name, o.Detail)
	}
	return s
}

func systemKernel(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "kernel", Short: "List the appliance's kernel objects: tables, addresses, settings",
		Example: "  sluice system kernel\n  sluice system kernel --json", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), "/system/kernel")
			a, err = orLeftovers(c, cmd, false, a, err)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body kernelObjects
			if err := a.Decode(&body); err != nil {
				return err
			}
			return c.Print(cmd, body.sheet())
		},
	}
}

func systemClean(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "clean", Short: "Remove the kernel objects of a stopped appliance",
		Long: `Remove the kernel objects of a stopped appliance: rules, settings, routes, and
the connections of its farms. A stopped appliance leaves its farms running in
the kernel; root can remove them. The command is refused while the appliance
runs. Other appliances in the same network namespace have their own rules; if
one runs, give the data directory of the stopped one with --data.`,
		Example: "  systemctl stop sluice && sluice system clean\n  sluice system clean --data /var/lib/other", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Send(cmd.Context(), http.MethodPost, "/system/kernel/clean", map[string]any{})
			a, err = orLeftovers(c, cmd, true, a, err)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body kernelObjects
			if err := a.Decode(&body); err != nil {
				return err
			}
			if len(body.Params) > 0 {
				if err := c.Print(cmd, body.sheet()); err != nil {
					return err
				}
			}
			return c.PrintMessage(cmd, a)
		},
	}
}
