package cli

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func systemLanguage(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "language [LANGUAGE]", Short: "Show or change the language of the web interface", Example: "  sluice system language\n  sluice system language de", Args: command.AtMost(1),
		ValidArgsFunction: cobra.FixedCompletions([]string{"en", "es", "de", "fr"}, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.Post(cmd, map[string]any{"language": args[0]}, "system", "language")
			}
			a, err := c.Get(cmd.Context(), "/system/language")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params struct{ Lang string } }
			if err := a.Decode(&body); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), show.Clean(body.Params.Lang))
			return err
		},
	}
}

func systemLicense(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "license", Short: "Print the licences of Sluice and its libraries", Example: "  sluice system license", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.PrintFile(cmd, "/system/license/txt", "license.txt")
		},
	}
}

// packagesWait bounds the request for updates, which reads the package lists.
const packagesWait = 20 * time.Minute

func systemPackages(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "packages", Short: "List available package updates; nothing is downloaded or installed", Example: "  sluice system packages", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: "/system/packages", Timeout: packagesWait})
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params struct {
					Message   string
					LastCheck string `json:"last_check"`
					Packages  []struct{ Name, From, To, Security string }
				}
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			if len(body.Params.Packages) > 0 {
				s := show.NewSheet("PACKAGE", "INSTALLED", "AVAILABLE", "SECURITY")
				for _, p := range body.Params.Packages {
					s.Add(p.Name, p.From, p.To, p.Security)
				}
				if err := c.Print(cmd, s); err != nil {
					return err
				}
			}
			text := show.Clean(body.Params.Message)
			if body.Params.LastCheck != "" {
				text += "\nThe package lists are dated " + show.Clean(body.Params.LastCheck) + "."
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
			return err
		},
	}
}
