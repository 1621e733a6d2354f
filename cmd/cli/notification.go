package cli

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

const notifications = "/system/notifications"

func notificationCommand(c *command.Line) *cobra.Command {
	return command.Parent("notification", "Notify operators of events by mail, webhook, syslog and scripts", `  sluice notification email server=mail.test from=lb@test to=ops@example.com
  sluice notification test
  sluice notification webhook create ops url=https://hooks.test/in < secret.txt
  sluice notification list
  sluice notification backends prefix='[prod]' avoidflappingtime=30`,
		notificationList(c), notificationEmail(c), notificationPassword(c), notificationTest(c), notificationSwitch(c, "enable", "Enable an alert"), notificationSwitch(c, "disable", "Disable an alert"),
		notificationBackends(c), notificationCluster(c), notificationInterfaces(c), notificationKinds(c), notificationSyslog(c), notificationScripts(c), webhookCommand(c))
}

func notificationList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List alerts and where they are sent", Example: "  sluice notification list", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), notifications+"/alerts")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params []struct{ Alert, Status, Active, Description string }
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("ALERT", "STATUS", "NOTICED", "WHAT")
			for _, v := range body.Params {
				s.Add(v.Alert, v.Status, v.Active, v.Description)
			}
			return c.Print(cmd, s)
		},
	}
}

var emailParams = append([]field.Param{
	{Name: "server", Description: "mail server, host or host:port (default port 25, with tls 587); blank: send no mail"},
	{Name: "user", Description: "user name for the mail server; blank: no authentication"},
	{Name: "from", Description: "sender address of mails"},
	{Name: "to", Options: []string{"list"}, Description: "recipient address of mails"},
	{Name: "tls", PossibleValues: []string{"true", "false"}, Description: "use TLS: implicit on port 465, STARTTLS on other ports"},
	{Name: "ca", Description: "list of authorities that verifies the server; blank: the system's"},
}, choiceParams("null: the kinds of the enabled alerts")...)

func notificationEmail(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, notifications+"/methods/email", emailParams, &cobra.Command{
		Use: "email [NAME=VALUE…]", Short: "Show or change the mail server and addresses",
		Long: "Show or change the mail server and addresses. The password is set by\n`sluice notification password`.",
		Example: `  sluice notification email server=mail.test from=lb@test to=ops@example.com
  sluice notification email tls=true user=lb to=a@example.com to=b@example.com
  sluice notification email severity=error
  sluice notification email server=`,
	})
}

func notificationPassword(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "password", Short: "Set or delete the password for the mail server",
		Long: `Set or delete the password for the mail server. It is prompted for on a
terminal, else it is the first line of standard input.`,
		Example: "  sluice notification password\n  sluice notification password < password.txt\n  sluice notification password --forget", Args: command.Exactly(0),
	}
	forget := cmd.Flags().Bool("forget", false, "keep none")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		password := ""
		if !*forget {
			if password, err = command.NewPassword(cmd); err != nil {
				return err
			}
		}
		a, err := c.Send(cmd.Context(), http.MethodPut, notifications+"/methods/email", map[string]any{"password": password})
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func notificationTest(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "test", Short: "Send a test mail and show the mail server's reply", Example: "  sluice notification test", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Send(cmd.Context(), http.MethodPost, notifications+"/methods/email/actions", map[string]any{"action": "test"})
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params struct{ Answer string } }
			if err := a.Decode(&body); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "The mail server accepted the mail. Its reply:", show.Clean(body.Params.Answer))
			return err
		},
	}
}

// alertNames are for completion; the appliance has the authoritative list.
var alertNames = []string{"backends", "certificates", "cluster", "interfaces", "limits", "packages"}

func notificationSwitch(c *command.Line, action, short string) *cobra.Command {
	return &cobra.Command{
		Use: action + " ALERT", Short: short, Example: "  sluice notification " + action + " certificates", Args: command.Exactly(1), ValidArgsFunction: cobra.FixedCompletions(alertNames, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.Post(cmd, map[string]any{"action": action}, "system", "notifications", "alerts", args[0], "actions")
		},
	}
}

var prefixParam = field.Param{Name: "prefix", Description: "prefix of mail subjects"}

func notificationBackends(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, notifications+"/alerts/backends", []field.Param{prefixParam, {Name: "avoidflappingtime", Interval: "0,3600", Description: "seconds a state must last before it is reported; null: 1"}}, &cobra.Command{
		Use: "backends [NAME=VALUE…]", Short: "Show or change notifications about backends", Example: "  sluice notification backends prefix='[prod]' avoidflappingtime=30",
	})
}

func notificationCluster(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, notifications+"/alerts/cluster", []field.Param{prefixParam}, &cobra.Command{
		Use: "cluster [NAME=VALUE…]", Short: "Show or change notifications about the cluster", Example: "  sluice notification cluster prefix='[prod]'",
	})
}

func notificationInterfaces(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, notifications+"/alerts/interfaces", []field.Param{{Name: "interfaces", Options: []string{"list"}, Description: "interfaces that are reported; null: all"}}, &cobra.Command{
		Use: "interfaces [NAME=VALUE…]", Short: "Show or change the interfaces that are reported", Example: "  sluice notification interfaces interfaces=eth0 interfaces=eth1",
	})
}

func notificationKinds(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "kinds", Short: "List the kinds of events", Example: "  sluice notification kinds", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), notifications+"/kinds")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					Kind, Alert, Description string
					Severities               []string
				}
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("KIND", "SEVERITIES", "ALERT", "WHAT")
			for _, v := range body.Params {
				s.Add(v.Kind, strings.Join(v.Severities, " "), v.Alert, v.Description)
			}
			return c.Print(cmd, s)
		},
	}
}

// wayParams are the settings of notification methods that exist once.
var wayParams = append([]field.Param{
	{Name: "enabled", PossibleValues: []string{"true", "false"}, Description: "whether events are sent there"},
}, choiceParams("null: all")...)

func notificationSyslog(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, notifications+"/methods/syslog", wayParams, &cobra.Command{
		Use: "syslog [NAME=VALUE…]", Short: "Show or change the events sent to syslog servers",
		Long:    "Show or change the events sent to the servers of `sluice system syslog`. Without\nservers they go to the local system log.",
		Example: "  sluice notification syslog severity=warning\n  sluice notification syslog enabled=false",
	})
}

func notificationScripts(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, notifications+"/methods/scripts", wayParams, &cobra.Command{
		Use: "scripts [NAME=VALUE…]", Short: "Show or change the events that run scripts",
		Long:    "Show or change the events that run scripts. The name of a script selects its\nevents: on-backend-down, or on-any.",
		Example: "  sluice notification scripts kinds=farm-start kinds=farm-stop\n  sluice notification scripts kinds=null",
	})
}
