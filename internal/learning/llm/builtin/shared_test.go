package builtin_test

import (
	"slices"
	"testing"
)

// What is said of somebody else in the clauses that follow is learnt of nobody but them: an allergy of a child is not the speaker's.
func TestAClauseWithoutASubjectIsOfWhoeverTheOneBeforeItIsAbout(t *testing.T) {
	for said, want := range map[string][]string{
		"Mi hijo Iker tiene 6 años y es celíaco.":          {"Su hijo Iker es celíaco.", "Su hijo Iker tiene 6 años."},
		"Mi marido es vegano y no bebe alcohol.":           {"Su marido es vegano.", "Su marido no bebe alcohol."},
		"Iker tiene 6 años y es alérgico al huevo.":        {"Iker tiene 6 años y es alérgico al huevo."},
		"Tengo un hijo y es celíaco.":                      {"Tiene un hijo."},
		"Es celíaco.":                                      nil,
		"No como gluten y mi mujer tampoco.":               {"No come gluten."},
		"Trabajo en Correos y no como carne.":              {"No come carne.", "Trabaja en Correos."},
		"Mi madre vive en Lugo y yo vivo en Vigo.":         {"Su madre vive en Lugo.", "Vive en Vigo."},
		"我儿子六岁，对花生过敏。":                                     {"儿子六岁，对花生过敏。"},
		"我妻子是护士，住在重庆。":                                     {"妻子是护士，住在重庆。"},
		"我住在重庆，对花生过敏。":                                     {"住在重庆。", "对花生过敏。"},
		"我妈妈是老师，我住在成都。":                                    {"妈妈是老师。", "住在成都。"},
		"Soy Batman, jeje.":                                nil,
		"Mi hija Ana estudia medicina y vive en Salamanca": {"Su hija Ana estudia medicina.", "Su hija Ana vive en Salamanca."},
	} {
		t.Run(said, func(t *testing.T) {
			wantLearnt(t, said, want)
		})
	}
}

// Who moves to a tool lives where they did, and a season is no tool.
func TestAMoveIsToAPlaceOrToATool(t *testing.T) {
	for said, want := range map[string]string{
		"I moved from Leeds to Utrecht last spring because of my girlfriend Noor.": "home_city",
		"I moved to Phoenix in May.":              "home_city",
		"We moved to Postgres.":                   "database",
		"We moved from MySQL to Postgres.":        "database",
		"We moved to Spring Boot in March.":       "backend_framework",
		"We use Spring at work.":                  "backend_framework",
		"I work with Python mostly.":              "",
		"I work at Python Software Foundation.":   "employer",
		"I decided to learn the cello in spring.": "",
	} {
		t.Run(said, func(t *testing.T) {
			if facts := learntOf(t, said); len(facts) != 1 || facts[0].Attribute != want {
				t.Errorf("got %+v, want one of %q", facts, want)
			}
		})
	}
}

// When somebody works is no calling: "trabajo de noche" leaves the one that is known.
func TestWhenSomebodyWorksIsNoJobTitle(t *testing.T) {
	got := remembered(t, chat([]string{"Trabajo de enfermero en el hospital.", "Trabajo de noche."}))
	if !slices.Contains(got, "Trabaja de enfermero en el hospital.") {
		t.Errorf("holds: %q", got)
	}
	for said, want := range map[string]string{"Trabajo de camarera.": "job_title", "Trabajo de lunes a viernes.": "", "Trabajo de noche los fines de semana.": ""} {
		for _, f := range learntOf(t, said) {
			if f.Attribute != want {
				t.Errorf("%q: %+v, want %q", said, f, want)
			}
		}
	}
}
