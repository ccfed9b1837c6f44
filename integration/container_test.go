package integration

import (
	"context"
	"crypto/rand"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// server is a container that a test owns.
type server struct {
	testcontainers.Container
	port string // of the service inside, such as 27017/tcp
}

// recipe says how a server is started.
type recipe struct {
	repository string // of the image; docker-compose.yml has the tag
	port       string
	command    []string
	env        map[string]string
	ready      wait.Strategy
}

// startWithin is for a machine that is busy with other tests; servers here were up in 2 to 12 seconds.
const startWithin = 3 * time.Minute

// start starts a server and removes it when the test ends.
func start(t *testing.T, r recipe) server {
	t.Helper()
	needDocker(t)
	image := imageOf(t, r.repository)
	c, err := testcontainers.Run(t.Context(), image,
		testcontainers.WithCmd(r.command...), testcontainers.WithEnv(r.env), testcontainers.WithExposedPorts(r.port),
		testcontainers.WithLabels(map[string]string{"strata.test": "integration"}),
		testcontainers.WithWaitStrategyAndDeadline(startWithin, r.ready, wait.ForListeningPort(r.port)))
	testcontainers.CleanupContainer(t, c)
	if err != nil {
		t.Fatalf("start %s: %v", image, err)
	}
	sayWhatItIs(t, c, image)
	return server{Container: c, port: r.port}
}

func needDocker(t *testing.T) {
	t.Helper()
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		backend.Missing(t, "docker", err.Error())
	}
	defer provider.Close()
	if err := provider.Health(t.Context()); err != nil {
		backend.Missing(t, "docker", err.Error())
	}
}

// imageOf returns the image as docker-compose.yml names it, so that tests and service use the same one.
func imageOf(t *testing.T, repository string) string {
	t.Helper()
	compose, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ +image: (` + regexp.QuoteMeta(repository) + `:\S+)$`).FindSubmatch(compose)
	if found == nil {
		t.Fatalf("docker-compose.yml has no image of %s", repository)
	}
	return string(found[1])
}

// sayWhatItIs logs whether the image is the real one: what a stand-in passes, the real one may still fail.
func sayWhatItIs(t *testing.T, c testcontainers.Container, image string) {
	t.Helper()
	state, err := c.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if inside := state.Config.Labels["strata.stand-in"]; inside != "" {
		t.Logf("%s is a STAND-IN: %s", image, inside)
		return
	}
	t.Logf("%s is the real image", image)
}

// address returns where the server can be reached now. It changes when the container starts again.
func (s server) address(t *testing.T, scheme string) string {
	t.Helper()
	endpoint, err := s.PortEndpoint(t.Context(), s.port, scheme)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint
}

// crash kills the server as kill -9 does, and starts it again over the same data.
func (s server) crash(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startWithin)
	defer cancel()
	now := time.Duration(0)
	if err := s.Stop(ctx, &now); err != nil {
		t.Fatalf("kill: %v", err)
	}
	if err := s.Start(ctx); err != nil {
		t.Fatalf("start again: %v", err)
	}
}

// fresh returns a name that no other test has.
func fresh() string { return "test_" + strings.ToLower(rand.Text()) }
