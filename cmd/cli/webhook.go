package cli

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func pathOfWebhook(name string, more ...string) (string, error) {
	return client.Path(append([]string{"system", "notifications", "methods", "webhooks", name}, more...)...)
}

func webhookCommand(c *command.Line) *cobra.Command {
	return command.Parent("webhook", "Send signed HTTP messages to receivers (webhooks)", `  sluice notification webhook create ops url=https://hooks.test/in < secret.txt
  sluice notification webhook test ops
  sluice notification webhook set ops severity=warning
  sluice notification webhook list`,
		webhookList(c), webhookCreate(c), webhookSet(c), webhookSecret(c), webhookTest(c), webhookDelete(c))
}

// eventKinds returns the kinds of events as setting values.
func eventKinds() (out []string) {
	for _, k := range event.Kinds() {
		out = append(out, string(k))
	}
	return out
}

// choiceParams returns the settings that select events.
func choiceParams(none string) []field.Param {
	return []field.Param{
		{Name: "kinds", PossibleValues: eventKinds(), Options: []string{"list"}, Description: "kind of event to send; " + none},
		{Name: "severity", PossibleValues: []string{"info", "warning", "error"}, Description: "minimum severity; null: info"},
	}
}

func webhookParams() []field.Param {
	return append([]field.Param{
		{Name: "url", Description: "URL that messages are posted to: https:// or http://"},
		{Name: "ca", Description: "list of authorities that verifies the receiver; blank: the system's"},
		{Name: "enabled", PossibleValues: []string{"true", "false"}, Description: "whether messages are sent"},
	}, choiceParams("null: all")...)
}

func webhookList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List webhooks and their delivery state", Example: "  sluice notification webhook list", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), command.Webhooks)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					Name, URL, Enabled, Severity, Problem string
					Kinds                                 []string
					Sent, Waiting, Lost                   int
				}
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("WEBHOOK", "ENABLED", "URL", "KINDS", "SEVERITY", "SENT", "WAITING", "LOST", "PROBLEM")
			for _, v := range body.Params {
				kinds := "all"
				if len(v.Kinds) > 0 {
					kinds = strings.Join(v.Kinds, " ")
				}
				s.Add(v.Name, v.Enabled, v.URL, kinds, v.Severity, v.Sent, v.Waiting, v.Lost, v.Problem)
			}
			return c.Print(cmd, s)
		},
	}
}

func webhookCreate(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "create WEBHOOK [NAME=VALUE…]", Short: "Create a webhook", Args: command.AtLeast(1),
		Long: `Create a webhook. Its secret, at least 16 characters, is prompted for on a
terminal, else it is the first line of standard input. The receiver needs it to
verify messages.`,
		Example: "  sluice notification webhook create ops url=https://hooks.test/in < secret.txt",
	}
	s := command.AddSettings(cmd, webhookParams())
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.FreeText}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.Read(cmd, args[1:])
		if err != nil {
			return err
		}
		fields["name"] = args[0]
		if fields["secret"], err = command.NewPassword(cmd); err != nil {
			return err
		}
		a, err := c.Send(cmd.Context(), http.MethodPost, command.Webhooks, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func webhookSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set WEBHOOK NAME=VALUE…", Short: "Change a webhook", Args: command.AtLeast(1),
		Example: "  sluice notification webhook set ops severity=warning\n  sluice notification webhook set ops kinds=backend-down kinds=backend-up\n  sluice notification webhook set ops enabled=false",
	}
	s := command.AddSettings(cmd, webhookParams())
	cmd.ValidArgsFunction = c.Completer([]command.Argument{command.WebhookName}, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := s.Read(cmd, args[1:])
		if err != nil {
			return err
		}
		if len(fields) == 0 {
			return command.Usagef("missing setting, e.g. severity=warning")
		}
		return changeWebhook(c, cmd, args[0], fields)
	}
	return cmd
}

func changeWebhook(c *command.Line, cmd *cobra.Command, name string, fields map[string]any) error {
	path, err := pathOfWebhook(name)
	if err != nil {
		return err
	}
	a, err := c.Send(cmd.Context(), http.MethodPut, path, fields)
	return c.Finish(cmd, a, err)
}

func webhookSecret(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "secret WEBHOOK", Short: "Change the secret of a webhook", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.WebhookName}, nil),
		Long: `Change the secret of a webhook. It is prompted for on a terminal, else it is the
first line of standard input.`,
		Example: "  sluice notification webhook secret ops\n  sluice notification webhook secret ops < secret.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			secret, err := command.NewPassword(cmd)
			if err != nil {
				return err
			}
			return changeWebhook(c, cmd, args[0], map[string]any{"secret": secret})
		},
	}
}

func webhookTest(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "test WEBHOOK", Short: "Send a test message and show the receiver's response", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.WebhookName}, nil),
		Example: "  sluice notification webhook test ops",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOfWebhook(args[0], "actions")
			if err != nil {
				return err
			}
			a, err := c.Send(cmd.Context(), http.MethodPost, path, map[string]any{"action": "test"})
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params struct{ Answer string } }
			if err := a.Decode(&body); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "The receiver accepted the message. Its response:", show.Clean(body.Params.Answer))
			return err
		},
	}
}

func webhookDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete WEBHOOK", Short: "Delete a webhook and its queued messages", Args: command.Exactly(1), ValidArgsFunction: c.Completer([]command.Argument{command.WebhookName}, nil),
		Example: "  sluice notification webhook delete ops",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOfWebhook(args[0])
			if err != nil {
				return err
			}
			return c.DeleteAt(cmd, path)
		},
	}
}
