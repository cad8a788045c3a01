package main

import (
	"errors"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/papertrace/patra/deploy"
)

// TestDeploy_SystemdTakesTheUnits: its own tool finds nothing to mend, where there is one;
// the units run nothing as root, and differ in nothing but their role.
func TestDeploy_SystemdTakesTheUnits(t *testing.T) {
	t.Parallel()
	all := systemdKeys(t, string(deploy.Unit))
	one := systemdKeys(t, string(deploy.RoleUnit))
	for key, want := range map[string]string{"Type": "notify", "DynamicUser": "yes", "CapabilityBoundingSet": "", "NoNewPrivileges": "yes"} {
		if got, is := all[key]; !is || got[0] != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"Description", "ExecStart", "Environment", "EnvironmentFile"} {
		delete(all, key)
		delete(one, key)
	}
	if !maps.EqualFunc(all, one, slices.Equal) {
		t.Errorf("the units differ:\n%v\n%v", all, one)
	}
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skipf("systemd-analyze is not installed (make test-deps), so nobody has looked at the units: %v", err)
	}
	for name, text := range map[string][]byte{"patra.service": deploy.Unit, "patra@executor.service": deploy.RoleUnit} {
		verifyUnit(t, tool, name, string(text))
	}
}

// verifyUnit has systemd look at a unit.
func verifyUnit(t *testing.T, tool, name, text string) {
	t.Helper()
	// The tool asks that the program be there.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(text, "/usr/local/bin/patra", self)), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), tool, "verify", "--man=no", unit).CombinedOutput()
	if err != nil || strings.Contains(string(said), name) {
		t.Errorf("systemd-analyze verify %s: %v: %s", name, err, said)
	}
}

// systemdKeys are the settings of a unit; one that is given several times has several values.
func systemdKeys(t *testing.T, unit string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for line := range strings.Lines(unit) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") {
			continue
		}
		key, value, is := strings.Cut(line, "=")
		if !is {
			t.Fatalf("%q is no setting of a unit", line)
		}
		out[key] = append(out[key], value)
	}
	return out
}

// composeFile is what is looked at in a file for Docker Compose.
type composeFile struct {
	Services map[string]struct {
		Image       string
		User        string
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		Command     []string
		Environment map[string]string
	}
}

func readCompose(t *testing.T) composeFile {
	t.Helper()
	var file composeFile
	if err := yaml.Unmarshal(deploy.Compose, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// manifest is what is looked at in a document for Kubernetes.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
					RunAsUser    int  `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Containers []struct {
					Image           string
					Args            []string
					SecurityContext struct {
						AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
						ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
						Capabilities             struct{ Drop []string }
					} `yaml:"securityContext"`
					LivenessProbe  probe `yaml:"livenessProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// readManifests reads all documents for Kubernetes.
func readManifests(t *testing.T) []manifest {
	t.Helper()
	var out []manifest
	for text := range strings.SplitSeq(string(deploy.Kubernetes), "\n---\n") {
		var m manifest
		if err := yaml.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if m.Kind == "" || m.Metadata.Name == "" || m.Metadata.Namespace != "patra" {
			t.Errorf("a document is of kind %q, is called %q and is in %q", m.Kind, m.Metadata.Name, m.Metadata.Namespace)
		}
		out = append(out, m)
	}
	return out
}

// TestDeploy_ContainersHaveNoRights: each of ours is no root, has no capabilities and cannot
// write to its disk, under Docker and on Kubernetes.
func TestDeploy_ContainersHaveNoRights(t *testing.T) {
	t.Parallel()
	for name, s := range readCompose(t).Services {
		if s.Image != "patra:local" {
			continue
		}
		if s.User != "65532:65532" || !s.ReadOnly || len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for _, m := range readManifests(t) {
		pod := m.Spec.Template.Spec
		if m.Kind != "Deployment" && m.Kind != "Job" {
			continue
		}
		if !pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.RunAsUser != 65532 || len(pod.Containers) != 1 {
			t.Errorf("%s: %+v", m.Metadata.Name, pod)
			continue
		}
		c := pod.Containers[0]
		may := c.SecurityContext
		if may.AllowPrivilegeEscalation == nil || *may.AllowPrivilegeEscalation || !may.ReadOnlyRootFilesystem || !slices.Equal(may.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s: %+v", m.Metadata.Name, may)
		}
		if m.Kind != "Deployment" {
			continue
		}
		if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || !slices.Contains(c.Args, "--listen") {
			t.Errorf("%s is not looked after: %v, %+v, %+v", m.Metadata.Name, c.Args, c.LivenessProbe, c.ReadinessProbe)
		}
		if !maps.Equal(m.Spec.Selector.MatchLabels, m.Spec.Template.Metadata.Labels) {
			t.Errorf("%s does not find its own pods", m.Metadata.Name)
		}
	}
}

// deployed are the command lines of patra in the files under deploy/, by where they stand.
func deployed(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	roles := []string{"all", "scheduler", "planner", "executor", "relay", "console"}
	for name, unit := range map[string][]byte{"patra.service": deploy.Unit, "patra@.service": deploy.RoleUnit} {
		for _, start := range systemdKeys(t, string(unit))["ExecStart"] {
			for _, r := range roles {
				line := strings.NewReplacer("%i", r, "$SERVE_FLAGS", "--workers 16 --listen 127.0.0.1:8080").Replace(start)
				out[name+" of "+r] = strings.Fields(line)[1:]
			}
		}
	}
	for name, s := range readCompose(t).Services {
		if s.Image == "patra:local" {
			out["compose.yaml "+name] = s.Command
		}
	}
	for _, m := range readManifests(t) {
		for _, c := range m.Spec.Template.Spec.Containers {
			out["kubernetes.yaml "+m.Metadata.Name] = c.Args
		}
	}
	return out
}

// TestDeploy_EveryCommandLineIsOne: what units, containers and pods run is a command there is, with
// flags it has; and each role is run by all of them.
func TestDeploy_EveryCommandLineIsOne(t *testing.T) {
	t.Parallel()
	served := map[string]bool{}
	for where, args := range deployed(t) {
		if err := commandLine(args); err != nil {
			t.Errorf("%s runs %q: %v", where, args, err)
		}
		file, _, _ := strings.Cut(where, " ")
		for _, arg := range args {
			served[file+" "+arg] = true
		}
	}
	for _, file := range []string{"patra@.service", "compose.yaml", "kubernetes.yaml"} {
		for _, r := range []string{"scheduler", "planner", "executor", "relay", "console"} {
			if !served[file+" "+r] {
				t.Errorf("%s runs no %s", file, r)
			}
		}
	}
	for _, wrong := range []string{"serve executioner", "serve --worker 3", "db migrat", "token new"} {
		if commandLine(strings.Fields(wrong)) == nil {
			t.Errorf("patra %s is taken for a command line", wrong)
		}
	}
}

// commandLine says what is wrong with a command line, without running it.
func commandLine(args []string) error {
	root := commands()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		return errors.New("it is no command")
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestDeploy_CommandsThatPeopleTypeAreOnes: those that stand in the comments of these files, and in
// the document that leads to them.
func TestDeploy_CommandsThatPeopleTypeAreOnes(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/scale-out.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{
		"patra.service": string(deploy.Unit), "patra@.service": string(deploy.RoleUnit), "compose.yaml": string(deploy.Compose),
		"kubernetes.yaml": string(deploy.Kubernetes), "scale-out.md": string(document),
	}
	// By hand, in a container, or in a pod.
	typed := regexp.MustCompile(`(?:^#?\s*|[|;]\s*)(?:sudo )?(?:patra|docker compose run --rm \w+|-- )\s*([a-z][^|>#\n]*)`)
	continued := regexp.MustCompile(`\\\\\n#?\s*`)
	looked := 0
	for where, text := range texts {
		for line := range strings.Lines(continued.ReplaceAllString(text, " ")) {
			m := typed.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil || !strings.HasPrefix(line, "#   ") && where != "scale-out.md" {
				continue
			}
			looked++
			args := strings.Fields(regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllString(m[1], "x"))
			if err := commandLine(args); err != nil {
				t.Errorf("%s says %q: %v", where, strings.TrimSpace(line), err)
			}
		}
	}
	if looked < 12 {
		t.Errorf("only %d commands seen", looked)
	}
}

// TestDeploy_SettingsAreKnown: every variable of patra that these files set or name is one that is
// read.
func TestDeploy_SettingsAreKnown(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`\bPATRA_[A-Z_]+\b`)
	looked := 0
	for _, text := range [][]byte{deploy.Unit, deploy.RoleUnit, deploy.Compose, deploy.Kubernetes} {
		for _, name := range named.FindAllString(string(text), -1) {
			looked++
			if err := isSetting(name); err != nil && !strings.Contains(err.Error(), "from the environment only") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if looked < 15 {
		t.Errorf("only %d settings seen", looked)
	}
}

// TestDeploy_TheImageIsStaticAndNobodys: it is built in stages, without C, by a Go that is new
// enough, and runs as no root with nothing around it.
func TestDeploy_TheImageIsStaticAndNobodys(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	needs := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	stages := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(b), -1)
	if len(stages) != 2 || stages[0][1] != "golang:"+string(needs[1]) || stages[1][1] != "gcr.io/distroless/static:nonroot" {
		t.Errorf("it is built from %q, and go.mod wants %s", stages, needs[1])
	}
	_, last, _ := strings.Cut(string(b), "FROM gcr.io")
	for _, want := range []string{"COPY --from=build /patra /patra\n", "USER 65532:65532\n", "ENTRYPOINT [\"/patra\"]\n"} {
		if !strings.Contains(last, want) {
			t.Errorf("the last stage has no %q", want)
		}
	}
	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0) go build .*-X main\.linked=.* -o /patra (\S+)$`).FindSubmatch(b)
	if build == nil {
		t.Fatal("nothing is built without C")
	}
	if _, err := os.Stat(filepath.Join("../..", string(build[2]), "main.go")); err != nil {
		t.Errorf("what is built is not there: %v", err)
	}
}

// TestNotify_SystemdIsTold what a service says, if it listens.
func TestNotify_SystemdIsTold(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	notifySystemd("READY=1")
	if err := l.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	n, err := l.Read(b)
	if err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("%q, %v", b[:n], err)
	}
}
