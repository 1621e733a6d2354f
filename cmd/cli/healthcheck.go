package cli

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/check"
)

// checkGroup adds the commands for health checks to the command that checks a document,
// which had the name alone in earlier versions.
func checkGroup(c *command.Line, cmd *cobra.Command) *cobra.Command {
	cmd.Use, cmd.Short = "check [-f FILE]", "Manage health checks; with -f: check a document"
	cmd.Example = `  sluice check list
  sluice check copy check_http alive
  sluice check set alive command='check_http -I HOST -p PORT -u /health'
  sluice check run alive 10.0.0.11 8080
  sluice check link alive shop web
  sluice check explain shop web 0
` + cmd.Example
	cmd.AddCommand(healthList(c), healthTemplates(c), healthShow(c), healthCreate(c), healthCopy(c),
		healthSet(c), healthDelete(c),
		healthLink(c), healthUnlink(c), healthRun(c), healthExplain(c))
	return cmd
}

type healthCheck struct {
	Name, Description, Command, Template string
	Farms                                []string
	Interval, Timeout                    int
}

// pathOfCheck returns the path of a health check or its parts.
func pathOfCheck(name string, more ...string) (string, error) {
	return client.Path(append([]string{"monitoring", "fg", name}, more...)...)
}

func healthList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List health checks, without unused templates", Example: "  sluice check list", Args: command.Exactly(0),
		RunE: healthSheet(c, func(h healthCheck) bool { return h.Template != "true" || len(h.Farms) > 0 }),
	}
}

func healthTemplates(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "templates", Short: "List the built-in health checks", Example: "  sluice check templates", Args: command.Exactly(0),
		RunE: healthSheet(c, func(h healthCheck) bool { return h.Template == "true" }),
	}
}

// healthSheet lists the checks for which fits returns true. JSON output is the complete API
// response.
func healthSheet(c *command.Line, fits func(healthCheck) bool) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		a, err := c.Get(cmd.Context(), command.HealthChecks)
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct{ Params []healthCheck }
		if err := a.Decode(&body); err != nil {
			return err
		}
		s := show.NewSheet("CHECK", "INTERVAL", "TIMEOUT", "USED BY", "COMMAND")
		for _, h := range body.Params {
			if fits(h) {
				s.Add(h.Name, h.Interval, h.Timeout, someOf(h.Farms), h.Command)
			}
		}
		return c.Print(cmd, s)
	}
}

// shownUsers bounds the users of a check in a line.
const shownUsers = 3

// someOf returns the first users of a check and the number of others.
func someOf(users []string) string {
	if len(users) <= shownUsers {
		return strings.Join(users, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(users[:shownUsers], " "), len(users)-shownUsers)
}

func healthShow(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "show CHECK", Short: "Show one health check", Example: "  sluice check show check_http", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.CheckName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOfCheck(args[0])
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params map[string]any }
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("SETTING", "VALUE")
			for _, name := range append([]string{"name", "template", "farms"}, check.Answer.Names()...) {
				if v, ok := body.Params[name]; ok {
					s.Add(name, v)
				}
			}
			s.AlignLeft()
			return c.Print(cmd, s)
		},
	}
}

func healthCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create CHECK [NAME=VALUE…]", Short: "Create a health check", Args: command.AtLeast(1),
		Example: "  sluice check create alive command='check_tcp -H HOST -p PORT' interval=5\n  sluice check create ours copy_from=check_http rise=3",
	}
	s := command.AddSettings(cmd, check.Create.Params()[1:])
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.FreeText}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.Read(cmd, args[1:])
		if err != nil {
			return err
		}
		fields["name"] = args[0]
		a, err := c.Send(cmd.Context(), http.MethodPost, command.HealthChecks, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func healthCopy(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "copy CHECK NAME", Short: "Create a health check from another one or a template", Example: "  sluice check copy check_http alive", Args: command.Exactly(2), ValidArgsFunction: c.Completer([]command.Argument{command.CheckName, command.FreeText}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := c.Send(cmd.Context(), http.MethodPost, command.HealthChecks, map[string]any{"name": args[1], "copy_from": args[0]})
			return c.Finish(cmd, a, err)
		},
	}
}

func healthSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set CHECK NAME=VALUE…", Short: "Change settings of a health check", Args: command.AtLeast(1),
		Long: `Change settings of a health check. While farms use it, command and
backend_alias change only with force=true, because its backends are probed from
scratch.`,
		Example: "  sluice check set alive interval=5 timeout=2\n  sluice check set alive command='check_tcp -H HOST -p PORT' force=true",
	}
	s := command.AddSettings(cmd, check.Update.Params())
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.CheckName}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.Set(cmd, s, args[1:], "monitoring", "fg", args[0])
	}
	return cmd
}

func healthDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete CHECK", Short: "Delete an unused health check", Example: "  sluice check delete alive", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.CheckName}, nil),
		Long: "Delete an unused health check. Deleting a changed template resets it to its\noriginal settings.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOfCheck(args[0])
			if err != nil {
				return err
			}
			return c.DeleteAt(cmd, path)
		},
	}
}

func healthLink(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "link CHECK FARM [SERVICE]", Short: "Check the backends of a service or of an l4xnat farm", Example: "  sluice check link alive shop web\n  sluice check link check_tcp dns",
		Args: command.Between(2, 3), ValidArgsFunction: c.Completer([]command.Argument{command.CheckName,
			command.FarmName, command.ServiceName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, _, err := parseOwner(c, cmd.Context(), args[1:], 0)
			if err != nil {
				return err
			}
			path, err := o.path("fg")
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPost, path, map[string]any{"name": args[0]})
			return c.Finish(cmd, a, err)
		},
	}
}

func healthUnlink(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "unlink CHECK FARM [SERVICE]", Short: "Stop checking the backends", Example: "  sluice check unlink alive shop web",
		Args: command.Between(2, 3), ValidArgsFunction: c.Completer([]command.Argument{command.CheckName,
			command.FarmName, command.ServiceName}, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, _, err := parseOwner(c, cmd.Context(), args[1:], 0)
			if err != nil {
				return err
			}
			path, err := o.path("fg", args[0])
			if err != nil {
				return err
			}
			return c.DeleteAt(cmd, path)
		},
	}
}

func healthRun(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "run CHECK HOST [PORT]", Short: "Run a health check against a server and show the result", Args: command.Between(2, 3), ValidArgsFunction: c.Completer([]command.Argument{command.CheckName, command.FreeText, command.FreeText}, nil),
		Long: `Run a health check against a server and show the result. The server does not
have to be a backend, and nothing is changed. The check runs on the appliance,
not on this machine. Exit status 3 means that the server is not healthy.`,
		Example: "  sluice check run check_http 10.0.0.11 8080\n  sluice check run check_ping 10.0.0.11",
	}
	limit := cmd.Flags().Int("timeout", 0, "timeout in seconds (default that of the check)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := pathOfCheck(args[0], "run")
		if err != nil {
			return err
		}
		fields := map[string]any{"host": args[1]}
		if len(args) == 3 {
			if fields["port"], err = strconv.Atoi(args[2]); err != nil {
				return command.Usagef("the port must be a number, got %q", args[2])
			}
		}
		if *limit != 0 {
			fields["timeout"] = *limit
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, path, fields)
		if err != nil || c.JSON {
			return c.FinishJSON(cmd, a, err)
		}
		var body struct {
			Params struct {
				Command, Address, Healthy, Reason string
				Took                              float64
				Conversation                      []string
			}
		}
		if err := a.Decode(&body); err != nil {
			return err
		}
		p, out := body.Params, cmd.OutOrStdout()
		fmt.Fprintln(out, show.Clean(p.Command))
		for _, line := range p.Conversation {
			fmt.Fprintln(out, "  "+show.Clean(line))
		}
		if p.Healthy == "true" {
			_, err = fmt.Fprintf(out, "%s is healthy, after %v ms\n", p.Address, p.Took)
			return err
		}
		fmt.Fprintf(out, "%s is not healthy, after %v ms: %s\n", p.Address, p.Took, show.Clean(p.Reason))
		return command.ErrFound
	}
	return cmd
}

func healthExplain(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "explain FARM [SERVICE] BACKEND", Short: "Explain the state of a backend", Example: "  sluice check explain shop web 0\n  sluice check explain dns 10.0.0.21:53",
		Args: command.Between(2, 3), ValidArgsFunction: completeOwner(c, ownedBackend, nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, rest, err := parseOwner(c, cmd.Context(), args, 1)
			if err != nil {
				return err
			}
			list, _, err := backendsOf(c, cmd.Context(), o)
			if err != nil {
				return err
			}
			at, err := find(list, o, rest[0])
			if err != nil {
				return err
			}
			path, err := o.path("backends", strconv.Itoa(list[at].ID), "check")
			if err != nil {
				return err
			}
			a, err := c.Get(cmd.Context(), path)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			return printHealth(c, cmd, a)
		},
	}
}

// health is the health of a backend, or of an address of its name, with the reason.
type health struct {
	Address        string
	Port           int
	Status, Reason string
	Probes         *struct {
		Check, Verdict  string
		Against, Needed int
		Results         []struct {
			At              time.Time
			Healthy, Reason string
			Took            float64
		}
	}
}

// printHealth prints an explanation: a sentence, the probes, and the same for each address
// of a name with several.
func printHealth(c *command.Line, cmd *cobra.Command, a client.Response) error {
	var body struct {
		Params struct {
			health
			Addresses []health
		}
	}
	if err := a.Decode(&body); err != nil {
		return err
	}
	if err := printOneHealth(c, cmd, "", body.Params.health); err != nil {
		return err
	}
	for _, one := range body.Params.Addresses {
		fmt.Fprintln(cmd.OutOrStdout())
		if err := printOneHealth(c, cmd, net.JoinHostPort(one.Address, strconv.Itoa(one.Port))+" ", one); err != nil {
			return err
		}
	}
	return nil
}

func printOneHealth(c *command.Line, cmd *cobra.Command, at string, p health) error {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s%s: %s\n", show.Clean(at), show.Clean(p.Status), show.Clean(p.Reason))
	if p.Probes == nil {
		return nil
	}
	fmt.Fprintf(out, "check %s says %s", show.Clean(p.Probes.Check), show.Clean(p.Probes.Verdict))
	if p.Probes.Against > 0 {
		fmt.Fprintf(out, "; %d of %d results that turn it", p.Probes.Against, p.Probes.Needed)
	}
	fmt.Fprintln(out)
	if len(p.Probes.Results) == 0 {
		return nil
	}
	s := show.NewSheet("AT", "TOOK", "RESULT")
	for _, r := range p.Probes.Results {
		result := "healthy"
		if r.Healthy != "true" {
			result = r.Reason
		}
		s.Add(command.FormatTime(r.At), fmt.Sprintf("%v ms", r.Took), result)
	}
	s.AlignLeft()
	return c.Print(cmd, s)
}
