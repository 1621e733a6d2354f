package cli

import (
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

const cloudPath = "/cloud/credentials"

func cloudCommand(c *command.Line) *cobra.Command {
	return command.Parent("cloud", "Credentials of a cloud account: set, check, delete", "  sluice cloud login aws ACCESSKEY eu-west-1 < secret.txt\n  sluice cloud check\n  sluice cloud logout",
		cloudCheck(c), cloudLogin(c), cloudLogout(c))
}

func cloudCheck(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check the credentials with the cloud provider", Example: "  sluice cloud check", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), cloudPath)
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct{ Params map[string]string }
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("SETTING", "VALUE")
			for _, name := range slices.Sorted(maps.Keys(body.Params)) {
				s.Add(name, body.Params[name])
			}
			return c.Print(cmd, s)
		},
	}
}

func cloudLogin(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "login aws|azure ID PLACE", Short: "Set the credentials after the cloud provider has accepted them", Args: command.Exactly(3), ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"aws", "azure"}, cobra.ShellCompDirectiveNoFileComp
		},
		Long: `Set the credentials after the cloud provider has accepted them. For aws, ID is
an access key and PLACE a region; for azure they are an application and its
tenant. The secret is prompted for on a terminal, else it is the first line of
standard input. If the provider rejects the credentials, the previous ones are
deleted too.`,
		Example: "  sluice cloud login aws AKIDEXAMPLE000000000 eu-west-1 < secret.txt\n  sluice cloud login azure APPLICATION example.onmicrosoft.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			secret, err := command.NewPassword(cmd)
			if err != nil {
				return err
			}
			fields := map[string]any{"provider": args[0], "access_key": args[1], "region": args[2], "secret_key": secret}
			if args[0] == "azure" {
				fields = map[string]any{"provider": args[0], "user": args[1], "tenant": args[2], "password": secret}
			}
			a, err := c.Send(cmd.Context(), http.MethodPost, cloudPath, fields)
			return c.Finish(cmd, a, err)
		},
	}
}

func cloudLogout(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "Delete the credentials", Example: "  sluice cloud logout", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.DeleteAt(cmd, cloudPath)
		},
	}
}
