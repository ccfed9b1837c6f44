package factclassifier

import (
	"strings"
	"unicode"

	"github.com/stratamem/strata/internal/promptinjection"
	"github.com/stratamem/strata/internal/text"
)

// Keeping is how much a clause that somebody says of themselves, or of those around them, reads like one that is worth
// keeping: what lasts, or what happened to them. Reactions, requests, states of the moment, what is asked, supposed or said in
// jest read less so. It is a logit; where to draw the line is the caller's choice. Of a long clause the beginning counts.
func Keeping(clause string) float64 {
	r := promptinjection.Read(clause)
	if r.Pleasantries {
		return -certain
	}
	return weights.scores(clauseFeatures(clause, r))[keeping]
}

// ClauseFeatures are the features by which Keeping judges, as program fit learns from them: those of a statement and its cues.
func ClauseFeatures(clause string) []Feature {
	return clauseFeatures(clause, promptinjection.Read(clause))
}

func clauseFeatures(clause string, r promptinjection.Reading) []Feature {
	c := collectorOf(clause, r)
	cues := cuesOf(r.Words)
	for i, a := range cues {
		c.add(kindCue, hash(kindCue, uint64(a)))
		for _, b := range cues[:i] {
			c.add(kindCues, hash(kindCues, uint64(a)<<8|uint64(b)))
		}
	}
	return c.features()
}

// cue is something that a clause has whatever the language: who, when, in what mood, about what.
type cue uint8

const (
	cueI cue = iota
	cueWe
	cueMine
	cueYou
	cueThat // points at what was said or shown
	cueNow
	cueThen  // a time gone by
	cueSince // for how long
	cueOften
	cuePlan
	cueDoubt
	cueNot
	cueReaction
	cueRequest
	cueTask // the work at hand: a file, an error, a function
	cueKin
	cueWork
	cueStudy
	cueHome
	cueHealth
	cueFood
	cueAnimal
	cuePastime
	cueTravel
	cueFaith
	cueLike
	cueTool
	cueEvent // something that happens once in a life or a year
	cueCount
)

// cuesOf are the cues of a statement in the words of promptinjection.Reading, in order.
func cuesOf(words string) []cue {
	var has [cueCount]bool
	for word := range strings.FieldsFuncSeq(words, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		for _, c := range cueOfWord(word) {
			has[c] = true
		}
	}
	if strings.ContainsFunc(words, text.Clings) {
		for c, list := range denseCues {
			has[c] = has[c] || containsAny(words, list)
		}
	}
	var out []cue
	for c, is := range has {
		if is {
			out = append(out, cue(c))
		}
	}
	return out
}

func containsAny(s string, list []string) bool {
	for _, part := range list {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// cueOfWord are the cues of a word in Latin letters, in its plural or past form too.
func cueOfWord(word string) []cue {
	if cues, ok := latinCues[word]; ok {
		return cues
	}
	for _, ending := range [...]string{"s", "es", "ed", "d", "ing"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && len(stem) > 2 {
			if cues, ok := latinCues[stem]; ok {
				return cues
			}
		}
	}
	return nil
}

// latinCues are the words of English and Spanish, without accents as promptinjection.Reading has them.
var latinCues = func() map[string][]cue {
	m := map[string][]cue{}
	for c, list := range latinWords {
		for word := range strings.FieldsSeq(list) {
			m[word] = append(m[word], cue(c))
		}
	}
	return m
}()

//nolint:misspell // Spanish
var latinWords = [cueCount]string{
	cueI:     `i i'm i've i'd i'll im me myself yo me soy estoy tengo vivo trabajo uso prefiero quiero`,
	cueWe:    `we we're we've we'll us our ours nosotros nosotras somos tenemos usamos vivimos nuestro nuestra nuestros nuestras nos`,
	cueMine:  `my mine mi mis mio mia`,
	cueYou:   `you you're you've you'll your yours yourself tu tus te ti contigo usted eres estas tienes`,
	cueThat:  `that that's this it it's these those they they're he she eso esto esa ese aquello lo`,
	cueNow:   `now today tonight right currently moment minute morning hoy ahora ahorita luego esta anoche`,
	cueThen:  `yesterday last ago past recently earlier previously ayer pasado pasada hace`,
	cueSince: `since years months decades desde llevo llevamos anos meses`,
	cueOften: `always never usually often every daily weekly weekends mondays tuesdays wednesdays thursdays fridays saturdays sundays rarely mostly mainly regularly
		siempre nunca suelo solemos cada diario lunes martes miercoles jueves viernes sabados domingos todos todas casi`,
	cuePlan: `want plan hope hoping dream goal planning going next soon wish aim intend wanna saving someday
		quiero pienso planeo sueno sueno meta objetivo proximo proxima viene espero ahorrando voy vamos`,
	cueDoubt: `if would could might maybe perhaps probably imagine suppose pretend almost guess wonder wish as
		si quiza quizas ojala talvez casi supongo imagina podria seria`,
	cueNot: `not no don't doesn't can't cannot won't never isn't aren't haven't didn't stopped quit no nunca ya tampoco jamas deje`,
	cueReaction: `amazing awesome great cool lovely nice wonderful incredible inspiring glad happy proud sorry thanks thank wow beautiful cute sounds congrats excited appreciate
		genial guay bonito bonita increible maravilloso alegro gracias enhorabuena vaya perfecto`,
	cueRequest: `please help explain show write tell give fix summarize translate can could let suggest recommend
		por favor ayuda ayudame explica dime dame escribe muestrame puedes podrias recomienda`,
	cueTask: `code function error bug file line test step example query script table column email essay paragraph draft snippet output variable method class
		codigo funcion error archivo linea tabla columna correo parrafo ejemplo prueba`,
	cueKin: `mom mum mother dad father parents sister brother siblings son daughter kid kids child children baby wife husband spouse partner girlfriend boyfriend fiance fiancee
		grandma grandmother grandpa grandfather granny aunt uncle cousin niece nephew family friend roommate flatmate neighbour neighbor colleague boss mentor twin twins
		madre padre mama papa padres hermana hermano hermanos hijo hija hijos hijas esposa esposo marido mujer novia novio abuela abuelo tia tio prima primo sobrina sobrino familia amiga amigo jefa jefe suegra suegro cunado cunada bebe nino nina ninos`,
	cueWork: `job work working worked career company business boss manager engineer teacher nurse doctor lawyer designer developer freelance client clients office colleague colleagues promoted hired fired retired startup shop store studio bakery restaurant salary shift shifts intern internship
		trabajo empresa negocio oficina jefe ingeniero ingeniera profesor profesora enfermera medico abogada abogado disenadora programador programadora autonomo cliente clientes tienda panaderia jubilado sueldo turno despacho puesto`,
	cueStudy: `study studying school university college degree class classes course thesis exam graduate graduated student learning learn lessons major phd masters semester scholarship
		estudio estudiar estudiando escuela colegio universidad carrera clase clases curso tesis examen estudiante aprendiendo aprender master beca oposiciones`,
	cueHome: `live lives living lived moved moving house home flat apartment rent landlord neighbourhood neighborhood city town village country born grew roots immigrated emigrated
		vivo vive vivimos viviendo mude mudamos mudarme casa piso departamento alquiler barrio ciudad pueblo naci creci pais`,
	cueHealth: `allergic allergy intolerant vegan vegetarian diabetes asthma migraine migraines diagnosed surgery therapy therapist doctor medication pills anxiety depression pregnant injury disease autism adhd celiac insomnia blood hospital sober smoking
		alergica alergico alergia intolerante vegana vegano vegetariana vegetariano diabetes asma migranas operaron pastillas ansiedad depresion embarazada enfermedad celiaco celiaca insomnio sangre hospital psicologo terapia fumar lesion`,
	cueFood: `eat food meat gluten dairy nuts peanuts fish coffee tea alcohol wine beer cook cooking bake baking recipe breakfast dinner sugar spicy favourite favorite
		comer comida carne gluten lactosa frutos pescado cafe te alcohol vino cerveza cocinar cocino desayuno cena azucar picante favorito favorita`,
	cueAnimal: `dog dogs cat cats puppy kitten pet pets horse rabbit parrot hamster turtle fish perro perra gato gata mascota caballo conejo loro`,
	cuePastime: `hobby hobbies paint painting draw pottery guitar piano violin cello drums choir sing dance dancing run running marathon swim swimming yoga gym hike hiking climb climbing cycling bike football soccer basketball tennis chess games gaming gardening garden knit photography read reading book books write writing movie movies camping band concert festival team club art volunteer volunteering coach
		aficion aficiones pinto pintar guitarra violin coro cantar bailar correr maraton nadar gimnasio senderismo escalada bici futbol baloncesto tenis ajedrez jardin fotografia leer libro libros escribir peliculas acampar grupo concierto equipo club arte voluntaria voluntario`,
	cueTravel: `trip travel traveled travelled vacation holiday visited flight flew tour abroad beach lake mountains roadtrip viaje viajar vacaciones visite vuelo playa montana`,
	cueFaith:  `church mosque temple synagogue faith religious catholic muslim jewish buddhist christian pray iglesia mezquita fe religiosa catolica catolico musulman judio budista cristiana rezo`,
	cueLike: `love like enjoy prefer hate dislike favourite favorite passion passionate fan into obsessed fond afraid scared fear interested hates loves likes prefers
		gusta gustan encanta encantan prefiero odio detesto favorito favorita apasiona fan miedo interesa`,
	cueTool: `postgres mysql python java rust golang typescript react docker kubernetes linux mac macbook windows android iphone vim vscode terraform aws slack jira github gitlab notion database backend frontend stack repo deploy
		base datos servidor programo portatil`,
	cueEvent: `married wedding engaged divorced adopted adoption graduated born died passed anniversary birthday promotion won award competed finished completed joined signed started launched opened bought sold published accepted attended hosted organized organised raised performed
		case boda divorcie divorcio adoptamos gradue nacio murio aniversario cumpleanos ascendieron gane premio termine empece abri compre vendi publique aceptaron inscribi apunte`,
}

var denseCues = func() (out [cueCount][]string) {
	for c, list := range denseWords {
		out[c] = strings.Fields(list)
	}
	return out
}()

// denseWords are pieces of Korean, Japanese and Chinese words.
var denseWords = [cueCount]string{
	cueI:        `나는 난 나도 저는 전 저도 제가 내가 나한테 저한테 나 저 私 わたし 僕 ぼく 俺 自分 我 本人`,
	cueWe:       `우리 저희 うち 我々 弊社 わたしたち 私たち 我们 咱们`,
	cueMine:     `내 제 우리 私の 僕の 俺の うちの 我的 我家 我妈 我爸 我哥 我姐 我弟 我妹 我老`,
	cueYou:      `너 네가 당신 그쪽 선생님은 あなた 君 きみ お前 你 您`,
	cueThat:     `이거 그거 저거 이게 그게 이것 그것 여기 거기 걔 これ それ あれ ここ そこ この その 这 那 它 他`,
	cueNow:      `지금 오늘 방금 이따 아까 내일 요즘 今日 今 さっき 明日 今夜 今朝 现在 今天 刚 明天 今晚 马上 正在`,
	cueThen:     `지난 작년 어제 전에 저번 재작년 올해 先週 先月 去年 昨日 前に 昨年 おととい 上周 上个月 去年 昨天 以前 前年 年前`,
	cueSince:    `째 부터 동안 년 된 지 이후 年間 から 以来 になる 年目 年了 以来 从 一直 多年`,
	cueOften:    `매일 매주 항상 늘 보통 주로 마다 자주 가끔 절대 일주일 毎日 毎週 毎朝 いつも よく たいてい だいたい 週末 毎年 ほとんど 每天 每周 总是 经常 一般 通常 从来 周末 每年 几乎`,
	cuePlan:     `싶어 싶다 계획 예정 목표 꿈 하려고 기로 할 거 다음 つもり 予定 たい 夢 目標 ことにし 来月 来年 想当 想开 打算 计划 梦想 目标 准备 明年 下个月 决定`,
	cueDoubt:    `면 아마 혹시 어쩌면 같아 을까 뻔 텐데 もし かも たら たぶん だろう でしょう かな 如果 要是 可能 也许 大概 差点 假如 也许 吧`,
	cueNot:      `안 못 없 않 아니 그만 끊 ない ません なかった やめ 苦手 不 没 戒 从没`,
	cueReaction: `멋지 대박 좋겠 축하 고마 다행 힘내 최고 미안 재밌 すごい 素敵 いいね おめでとう ありがとう よかった 楽しそう 太棒 恭喜 谢谢 加油 厉害 不错 真好`,
	cueRequest:  `줘 주세요 부탁 알려 도와 해주 추천 설명 ください して欲し お願い 教えて 見せて 直して 书 请 帮 告诉 给我 推荐 解释`,
	cueTask:     `코드 함수 에러 버그 파일 테스트 줄 예제 표 변수 컴파일 コード 関数 エラー バグ ファイル テスト 行目 例 表 変数 代码 函数 错误 文件 测试 例子 表 变量 编译`,
	cueKin: `엄마 아빠 어머니 아버지 부모 동생 언니 누나 형 오빠 아내 남편 와이프 아들 딸 아이 애가 애들 친구 남자친구 여자친구 할머니 할아버지 이모 삼촌 고모 조카 사촌 룸메 가족 장모 시어머니 신랑
		母 父 両親 妹 弟 姉 兄 妻 夫 息子 娘 子ども 子供 友達 親友 彼氏 彼女 祖母 祖父 叔母 叔父 いとこ 家族 主人 嫁 旦那 妈 爸 父母 妹 弟 姐 哥 老婆 老公 妻子 丈夫 儿子 女儿 孩子 朋友 男友 女友 奶奶 爷爷 外婆 姑 叔 舅 家人 室友 媳妇`,
	cueWork:    `회사 직장 일하 일해 근무 출근 퇴근 이직 취직 승진 퇴사 창업 개발자 간호사 교사 의사 변호사 디자이너 사장 팀장 프리랜서 가게 사업 알바 会社 仕事 勤め 働 転職 就職 昇進 退職 起業 エンジニア 看護師 教師 医者 店 経営 フリー 上司 在宅 公司 工作 上班 同事 老板 跳槽 升职 辞职 创业 程序员 护士 老师 医生 律师 店 生意 入职 离职`,
	cueStudy:   `학교 대학 전공 공부 수업 시험 논문 졸업 학생 배우 유학 자격증 学校 大学 専攻 勉強 授業 試験 論文 卒業 学生 習 留学 资格 学 大学 专业 考试 论文 毕业 学生 留学 课`,
	cueHome:    `살아 살고 이사 집 동네 고향 출신 자랐 태어났 월세 전세 자취 住 引っ越 家 出身 生まれ 育 家賃 実家 住 搬 家 老家 出生 长大 房租 租`,
	cueHealth:  `알레르기 알러지 비건 채식 당뇨 천식 수술 진단 약 병원 임신 우울 불안 불면 편두통 담배 술 혈압 アレルギー ビーガン ベジタリアン 糖尿 喘息 手術 診断 薬 病院 妊娠 うつ 不眠 頭痛 タバコ 酒 血圧 骨折 过敏 素食 糖尿 哮喘 手术 诊断 药 医院 怀孕 抑郁 失眠 偏头痛 烟 酒 血压 骨折`,
	cueFood:    `먹어 먹는 고기 글루텐 우유 커피 차를 맵 매운 요리 아침 음식 食べ 肉 グルテン 牛乳 コーヒー 辛い 料理 朝ごはん 吃 肉 麸质 牛奶 咖啡 辣 做饭 早饭 喝`,
	cueAnimal:  `강아지 고양이 개 반려 犬 猫 ペット うさぎ 狗 猫 宠物 兔`,
	cuePastime: `취미 그림 피아노 기타 바이올린 합창 노래 춤 달리기 마라톤 수영 요가 헬스 등산 자전거 축구 농구 야구 테니스 체스 정원 사진 책 소설 영화 캠핑 콘서트 봉사 趣味 絵 ピアノ ギター バイオリン 合唱 歌 踊 走 マラソン 水泳 泳 ヨガ ジム 登山 自転車 サッカー 野球 テニス 将棋 写真 本 小説 映画 キャンプ ボランティア 爱好 画 钢琴 吉他 小提琴 唱歌 跳舞 跑步 马拉松 游泳 瑜伽 健身 爬山 骑 足球 篮球 网球 围棋 摄影 书 小说 电影 露营 志愿`,
	cueTravel:  `여행 비행기 다녀왔 갔다 왔 바다 제주 旅行 飛行機 海 行ってきた 旅行 飞机 航班 海边 去了`,
	cueFaith:   `교회 성당 절에 신자 불교 기독교 종교 教会 寺 信者 仏教 宗教 教堂 寺 信佛 佛教 宗教 基督`,
	cueLike:    `좋아 싫어 선호 사랑 즐겨 팬 최애 무서 관심 빠졌 好き 嫌い 苦手 大好き はまって ファン 推し 怖い 関心 喜欢 讨厌 爱 粉丝 怕 迷上 偏好 受不了`,
	cueTool:    `파이썬 자바 리액트 도커 쿠버네티스 리눅스 맥북 윈도우 안드로이드 아이폰 디비 서버 백엔드 배포 データベース サーバー バックエンド デプロイ リナックス 数据库 服务器 后端 前端 部署 苹果 安卓`,
	cueEvent:   `결혼 이혼 약혼 입양 졸업 태어 돌아가 기념일 생일 승진 우승 합격 끝냈 시작했 등록 오픈 샀 팔았 당첨 結婚 離婚 婚約 卒業 生まれ 亡くな 記念日 誕生日 昇進 優勝 合格 書き終え 始めた 申し込 開店 買った 売った 引き取 结婚 离婚 订婚 领养 毕业 出生 去世 纪念日 生日 升职 冠军 考过 写完 报名 开业 买了 卖了`,
}
